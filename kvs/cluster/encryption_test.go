package cluster

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"kvlab/kvs/cluster/trial"
)

// TestEncryptedRun runs the real programs under --tls: every count is exact, and
// the result says what it is; no key is written anywhere. With -tls on one side
// only, the verdict says so.
func TestEncryptedRun(t *testing.T) {
	t.Parallel()
	inCI(t)
	programs := buildPrograms(t)
	newRun := func(further ...string) (*testRun, error) {
		tr := newTrial(t)
		tr.Programs, tr.timeouts = programs, trial.DefaultTimeouts()
		args := []string{"2", "1", "--local", "--out", tr.out, "--secs", "1", "--client-args", "-records 2000 -workers 4 -batch 64 -warmup 0"}
		return tr, tr.Run(context.Background(), append(args, further...))
	}
	t.Run("both", func(t *testing.T) {
		tr, err := newRun("--tls")
		if err != nil {
			t.Fatalf("%v\n%s%s", err, tr.stdout.String(), tr.stderr.String())
		}
		run := tr.runJSON(t)
		if !run.Verdict.Valid || run.Ops == 0 || run.Total != run.Applied || !run.Encrypted() {
			t.Errorf("verdict %v, %d ops, verified %+v, applied %+v, encrypted %t", run.Verdict, run.Ops, run.Total, run.Applied, run.Encrypted())
		}
		for _, node := range run.Nodes {
			if node.Config.Flags["tls"] != "true" {
				t.Errorf("%s has -tls %q", node.Name, node.Config.Flags["tls"])
			}
		}
		if text := tr.read(t, "summary.txt"); !strings.Contains(text, "/tls=true/") {
			t.Errorf("the benchmark's name does not say it: %s", text)
		}
		if !strings.Contains(tr.stdout.String(), "calls were encrypted") {
			t.Errorf("the terminal does not say it:\n%s", tr.stdout.String())
		}
		checkNoKey(t, tr.out)
	})
	for _, test := range []struct{ flag, args, want string }{
		{"--server-args", "-tls", " was started with -tls, the client without"},
		{"--client-args", "-tls -records 2000 -warmup 0", "the client was started with -tls, the server without"},
	} {
		t.Run(test.flag, func(t *testing.T) {
			tr, err := newRun(test.flag, test.args)
			if v := tr.runJSON(t).Verdict; ExitStatus(err) != 1 || !strings.Contains(v.Reason, test.want) {
				t.Errorf("exit status %d, verdict %v; want %q", ExitStatus(err), v, test.want)
			}
		})
	}
}

// checkNoKey fails when a file under dir has a private key.
func checkNoKey(t *testing.T, dir string) {
	t.Helper()
	files := 0
	err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		text, err := os.ReadFile(path)
		if files++; bytes.Contains(text, []byte("PRIVATE KEY")) {
			t.Errorf("%s has a private key", path)
		}
		return err
	})
	if err != nil || files < 5 {
		t.Errorf("%d files were looked at: %v", files, err)
	}
}
