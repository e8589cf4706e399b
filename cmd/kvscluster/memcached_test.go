package main

import (
	"bytes"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"kvlab/internal/redistest"
)

// disturbedMemcached runs a memcached with further arguments, says something to it in the
// window, and returns the verdict.
func disturbedMemcached(t *testing.T, args, say string, seed int) string {
	t.Helper()
	out := t.TempDir()
	run := fmt.Sprintf(`{"driver":"memcached","run":"memcached -l {host} -p {port} -U 0 -u root %s"}`, args)
	cmd := exec.Command(filepath.Join(build(t), "bin", "kvscluster"), "--local", "--no-ceiling", "--out", out, "--target", run, "--secs", "3",
		"--client-args", fmt.Sprintf("-workload mix -reads 0.5 -inserts 0.5 -records 5000 -value-size 1000 -workers 4 -batch 64 -rate 10k -warmup 0 -seed %d", seed))
	var stdout bytes.Buffer
	cmd.Stdout = &stdout
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { cmd.Process.Kill() })
	if say != "" {
		latest := filepath.Join(out, "latest")
		waitFor(t, filepath.Join(latest, "kvsclient-node1.log"), "phase window")
		log, err := os.ReadFile(filepath.Join(latest, "kvsserver-node0.log"))
		if err != nil {
			t.Fatal(err)
		}
		conn, err := net.Dial("tcp", string(answersOn.FindSubmatch(log)[1]))
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		fmt.Fprint(conn, say)
	}
	_ = cmd.Wait() // the verdict says it
	_, verdict, _ := strings.Cut(stdout.String(), "\nverdict ")
	return strings.TrimSpace(verdict)
}

// What happens to a real memcached makes the run INVALID with its reason.
func TestMemcachedFaults(t *testing.T) {
	inCI(t)
	redistest.Need(t, "memcached")
	t.Parallel()
	seeds := 1
	if os.Getenv("KVLAB_LONG") == "1" {
		seeds = 20
	}
	for _, fault := range []struct{ name, args, say, want string }{
		{"keys are evicted", "-m 12", "", "the store's evict"},
		{"memory is full", "-m 12 -M", "", "out of memory storing object"},
		{"a third-party client writes", "-m 4096", "set stranger 0 0 1\r\nx\r\n", "a third-party client wrote, or some were sent twice, node0)"},
		{"a third-party client touches", "-m 4096", "touch stranger 0\r\n", "executed 1 cmd_touch, which no client of the run sends: a third-party client's, node0)"},
		{"a third-party client reads", "-m 4096", "get stranger\r\nget other\r\n", "VALID"},
		{"counters are reset", "-m 4096", "stats reset\r\n", "reset, node0)"},
		{"a flush", "-m 4096", "flush_all 1000\r\n", "the store's cmd_flush went from 0 to 1"},
	} {
		for seed := range seeds {
			t.Run(fmt.Sprintf("%s/seed %d", fault.name, seed), func(t *testing.T) {
				t.Parallel()
				verdict := disturbedMemcached(t, fault.args, fault.say, seed)
				if valid := fault.want == "VALID"; !strings.Contains(verdict, fault.want) || strings.HasPrefix(verdict, "VALID") != valid {
					t.Errorf("verdict %s, want %q", verdict, fault.want)
				}
			})
		}
	}
}
