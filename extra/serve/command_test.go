package serve

import (
	"bufio"
	"bytes"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"kvlab/extra/serve/index"
	"kvlab/plots/command"
)

var kvsplot = command.Program{Commands: []command.Command{index.Command, Command}}

func TestCommands(t *testing.T) {
	logs, _ := served(t)
	empty := t.TempDir()
	for _, test := range []struct {
		args             []string
		want             int
		wantOut, wantErr string
	}{
		{[]string{"list", logs}, 0, "20261121-153000-main  ", ""},
		{[]string{"list", empty}, 2, "", "kvsplot: " + empty + " has no run folder"},
		{[]string{"list", filepath.Join(logs, "none")}, 2, "", "no such file"},
		{[]string{"list", logs, logs}, 2, "", "kvsplot: want one folder of runs, such as logs"},
		{[]string{"list", "--html", logs}, 2, "", "kvsplot: --html: unknown flag"},
		{[]string{"serve", logs, "-addr", "0.0.0.0:7070"}, 2, "", "kvsplot: -addr 0.0.0.0:7070: not a loopback address: want 127.0.0.1:PORT"},
		{[]string{"serve", filepath.Join(logs, "none")}, 2, "", "no such file"},
		{[]string{"serve", "-adr", "x"}, 2, "", "--adr: unknown flag; did you mean --addr?"},
	} {
		var stdout, stderr bytes.Buffer
		status := kvsplot.Main(test.args, &stdout, &stderr)
		if status != test.want || !strings.Contains(stdout.String(), test.wantOut) || !strings.Contains(stderr.String(), test.wantErr) {
			t.Errorf("%q: exit status %d\n%s%s", test.args, status, &stdout, &stderr)
		}
	}
}

// An interrupt ends the page in order.
func TestServeUntilInterrupted(t *testing.T) {
	logs, _ := served(t)
	said, stdout := io.Pipe()
	ended := make(chan int, 1)
	go func() { ended <- kvsplot.Main([]string{"serve", "-addr", "127.0.0.1:0", logs}, stdout, os.Stderr) }()
	line, err := bufio.NewReader(said).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	answer, err := http.Get(strings.Fields(line)[0])
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	if page, err := io.ReadAll(answer.Body); err != nil || !strings.Contains(string(page), "./20261121-153000-main/") {
		t.Errorf("%v: the page has no link to the run:\n%s", err, page)
	}
	if err := syscall.Kill(os.Getpid(), syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	if status := <-ended; status != 0 {
		t.Errorf("exit status %d", status)
	}
}
