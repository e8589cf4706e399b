package cluster

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// A node's login shell may be any: sshd gives it a command line with -c, as the
// ssh of this test does.
func TestLoginShells(t *testing.T) {
	for _, shell := range []string{"dash", "bash", "tcsh", "fish"} {
		t.Run(shell, func(t *testing.T) {
			path, err := exec.LookPath(shell)
			if err != nil {
				skip(t, "no %s on this machine", shell)
			}
			tr, _, _ := newRemoteTrial(t)
			old := `exec sh -c "$*"`
			if !strings.Contains(fakeSSH, old) {
				t.Fatal("the fake ssh has changed")
			}
			tr.SSH = script(t, "ssh", strings.Replace(fakeSSH, old, `exec `+path+` -c "$*"`, 1))
			t.Setenv("HOME", t.TempDir()) // no start-up files
			hosts := writeHosts(t, "node0 addr="+nodeIP(0), "node1 addr="+nodeIP(1))
			if err := tr.Run(context.Background(), []string{"1", "1", "-fake-clients node1", "", "--hosts", hosts, "--out", tr.out}); err != nil {
				t.Fatalf("%v\n%s", err, tr.stderr.String())
			}
			if _, err := os.Stat(filepath.Join(tr.out, "latest", "kvsserver-node0.log")); err != nil {
				t.Error(err)
			}
		})
	}
}
