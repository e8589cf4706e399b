package remote

import (
	"bufio"
	"crypto/sha256"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// An incomplete program leaves nothing behind, even if the launcher has ended.
func TestReceive(t *testing.T) {
	content := strings.Repeat("0123456789abcdef", 10000)
	sum := fmt.Sprintf("%x", sha256.Sum256([]byte(content)))
	for _, test := range []struct {
		name, arrives string
		gone          bool // the launcher
		want          []string
	}{
		{"whole", content, false, []string{"p"}},
		{"half", content[:len(content)/2], false, nil},
		{"half of a launcher that is killed", content[:len(content)/2], true, nil},
		{"nothing", "", true, nil},
	} {
		dir := t.TempDir()
		cmd := exec.Command("sh", "-s")
		stdin, err := cmd.StdinPipe()
		if err != nil {
			t.Fatal(err)
		}
		stdout, answers, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		cmd.Stdout, cmd.Stderr = answers, answers
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		answers.Close()
		fmt.Fprintf(stdin, "program=p\nsum=%s\npath=%s/p\nlimit=20\n%s", sum, dir, receiveScript)
		said := bufio.NewReader(stdout)
		if line, err := said.ReadString('\n'); line != "kvlab send\n" {
			t.Errorf("%s: answer %q, %v", test.name, line, err)
		}
		if test.gone {
			stdout.Close()
		}
		io.WriteString(stdin, test.arrives)
		stdin.Close()
		end, _ := said.ReadString('\n')
		cmd.Wait()
		stdout.Close()
		var files []string
		entries, err := os.ReadDir(dir)
		for _, entry := range entries {
			files = append(files, entry.Name())
		}
		if err != nil || !slices.Equal(files, test.want) || (end == "kvlab installed\n") != (test.want != nil) {
			t.Errorf("%s: files %q, %v, answer %q", test.name, files, err, end)
		}
	}
}

// The scripts that run on the nodes are plain POSIX shell.
func TestScriptsAreClean(t *testing.T) {
	checker, err := exec.LookPath("shellcheck")
	if err != nil {
		t.Skip("shellcheck is not installed")
	}
	vars := "program=p\nsum=s\nfolder=f\npath=p\nlimit=9\nexport program sum folder path limit\n"
	for name, text := range map[string]string{"probe": probeScript, "receive": receiveScript} {
		cmd := exec.Command(checker, "-s", "sh", "-e", "SC3067", "-")
		cmd.Stdin = strings.NewReader(vars + text)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("%s script: %v\n%s", name, err, out)
		}
	}
}
