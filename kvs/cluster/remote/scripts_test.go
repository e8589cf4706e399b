package remote

import (
	"bufio"
	"crypto/sha256"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestInstall: an incomplete program leaves nothing behind, even if the launcher has ended.
func TestInstall(t *testing.T) {
	content := strings.Repeat("0123456789abcdef", 10000)
	system, err := exec.Command("uname", "-sm").Output()
	if err != nil {
		t.Fatal(err)
	}
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
		user := "test-" + filepath.Base(filepath.Dir(t.TempDir())) + "-" + strings.ReplaceAll(test.name, " ", "-")
		dir := "/tmp/kvlab-" + user
		t.Cleanup(func() { os.RemoveAll(dir) })
		t.Setenv("PATH", filepath.Dir(script(t, "id", "echo "+user))+":"+os.Getenv("PATH"))
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
		fmt.Fprintf(stdin, "program=p\nsum=%s\nfolder=f\nsystem='%s'\nlimit=20\n%s", sum, strings.TrimSpace(string(system)), installScript)
		said := bufio.NewReader(stdout)
		for _, want := range []string{"kvlab begun\n", "kvlab send\n"} {
			if line, err := said.ReadString('\n'); line != want {
				t.Errorf("%s: answer %q, %v, want %q", test.name, line, err, want)
			}
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
		entries, err := os.ReadDir(dir + "/f")
		for _, entry := range entries {
			files = append(files, entry.Name())
		}
		if err != nil || !slices.Equal(files, test.want) || (end == "kvlab path "+dir+"/f/p\n") != (test.want != nil) {
			t.Errorf("%s: files %q, %v, answer %q", test.name, files, err, end)
		}
	}
}

// The script that runs on the nodes is plain POSIX shell.
func TestScriptIsClean(t *testing.T) {
	checker, err := exec.LookPath("shellcheck")
	if err != nil {
		t.Skip("shellcheck is not installed")
	}
	cmd := exec.Command(checker, "-s", "sh", "-e", "SC3067", "-")
	cmd.Stdin = strings.NewReader("program=p\nsum=s\nfolder=f\nsystem=s\nlimit=9\nexport program sum folder system limit\n" + installScript)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}
