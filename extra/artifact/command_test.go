package artifact

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"kvlab/plots/command"
)

func TestCommandRefuses(t *testing.T) {
	kvsplot := command.Program{Commands: []command.Command{Command}}
	dir := t.TempDir()
	run, out := filepath.Join(dir, "good"), filepath.Join(dir, "artifact.tar.gz")
	if err := os.Mkdir(run, 0o755); err != nil {
		t.Fatal(err)
	}
	write := func(name, text string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(run, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	refused := func(want string, args ...string) {
		t.Helper()
		var stderr bytes.Buffer
		status := kvsplot.Main(append([]string{"pack", "-o", out}, args...), &bytes.Buffer{}, &stderr)
		if status != 2 || !strings.Contains(stderr.String(), want) {
			t.Errorf("%q: exit status %d, %s", args, status, &stderr)
		}
		if _, err := os.Stat(out); err == nil {
			t.Errorf("%q: there is an archive", args)
		}
	}
	refused("kvsplot: want kvsplot pack RUN")
	write("run.json", `{"schema":2,"id":"good","nodes":[{"name":"a","role":"server"}],"verdict":{"valid":true}}`)
	refused("good has no git commit", run)
	write("run.json", `{"schema":2,"id":"good","git_commit":"c","verdict":{"valid":true}}`)
	write("manifest.json", `{"schema":2,"files":[{"name":"summary.txt","bytes":1,"sha256":"x"}]}`)
	refused("summary.txt: the file is missing", run)
}
