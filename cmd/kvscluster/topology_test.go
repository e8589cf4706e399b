package main

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"kvlab/metrics"
)

// readRun reads a run folder's run.json.
func readRun(t *testing.T, dir string) metrics.Run {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(dir, "run.json"))
	if err != nil {
		t.Fatal(err)
	}
	var run metrics.Run
	if err := json.Unmarshal(text, &run); err != nil {
		t.Fatal(err)
	}
	return run
}

// However processes share nodes, every operation that a client verified is one
// that a server applied, and every process has its own log.
func TestTopologies(t *testing.T) {
	inCI(t)
	t.Parallel()
	tests := []struct {
		args     string
		machines int
		logs     string // in the order of their names
	}{
		{"--symmetric 2", 2, "kvsclient-node0 kvsclient-node1 kvsserver-node0 kvsserver-node1"},
		{"--servers-per-node 2 --clients-per-node 2 3 2", 3, "kvsclient-node2-0 kvsclient-node2-1 kvsserver-node0-0 kvsserver-node0-1 kvsserver-node1-0"},
	}
	for _, test := range tests {
		t.Run(test.args, func(t *testing.T) {
			t.Parallel()
			root, out := build(t), t.TempDir()
			args := append([]string{"--local", "--no-ceiling", "--out", out, "--secs", "4", "--client-args", "-linearizable -records 3000 -workers 4 -batch 64 -rate 5k -warmup 0"}, strings.Fields(test.args)...)
			text, err := exec.Command(filepath.Join(root, "bin", "kvscluster"), args...).CombinedOutput()
			if err != nil {
				t.Fatalf("%v\n%s", err, text)
			}
			run := readRun(t, filepath.Join(out, "latest"))
			if !run.Verdict.Valid || run.Ops == 0 || run.Total != run.Applied || run.Machines() != test.machines {
				t.Errorf("verdict %v, %d operations, verified %+v, applied %+v, %d nodes", run.Verdict, run.Ops, run.Total, run.Applied, run.Machines())
			}
			if c := run.Check; c == nil || c.Clients != 2 || c.Slices == 0 || c.WidenedS != 0 {
				t.Errorf("both clients together: %+v", c)
			}
			var logs []string
			files, _ := filepath.Glob(filepath.Join(out, "latest", "*.log"))
			for _, file := range files {
				logs = append(logs, strings.TrimSuffix(filepath.Base(file), ".log"))
			}
			if got := strings.Join(logs, " "); got != test.logs {
				t.Errorf("logs %s, want %s", got, test.logs)
			}
			for _, name := range strings.Fields(test.logs) {
				if node, ok := strings.CutPrefix(name, "kvsserver-"); ok && !strings.Contains(string(text), "\n"+node+" median ") && !strings.HasPrefix(string(text), node+" median ") {
					t.Errorf("no median of %s:\n%s", node, text)
				}
			}
		})
	}
}

// A role's processes run where they are told to, with every thread, and run.json
// says so.
func TestCores(t *testing.T) {
	var allowed string
	for line := range strings.Lines(status(t, "self")) {
		if list, ok := strings.CutPrefix(line, "Cpus_allowed_list:"); ok {
			allowed = strings.TrimSpace(list)
		}
	}
	first, last := allowed[:strings.IndexAny(allowed+",", ",-")], allowed[strings.LastIndexAny(allowed, ",-")+1:]
	if first == last {
		t.Skipf("one processor is not enough to tell: %s", allowed)
	}
	inCI(t)
	t.Parallel()
	root := build(t)
	cmd, out := startArgs(t, root, nil, "--local", "1", "1", "--server-cores", first, "--client-cores", last)
	for program, want := range map[string]string{"kvsserver": first, "kvsclient": last} {
		pids := processes(root, program)
		if len(pids) != 1 {
			t.Fatalf("%s runs as %v", program, pids)
		}
		tasks, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*", pids[0]))
		if err != nil || len(tasks) < 4 {
			t.Fatalf("%s has the threads %q, %v", program, tasks, err)
		}
		for _, task := range tasks {
			text, err := os.ReadFile(task + "/status")
			if err != nil {
				continue // it has ended
			}
			if !slices.Contains(strings.Split(string(text), "\n"), "Cpus_allowed_list:\t"+want) {
				t.Errorf("%s: thread %s runs elsewhere than on %s:\n%s", program, filepath.Base(task), want, text)
			}
		}
	}
	cmd.Process.Signal(os.Interrupt)
	cmd.Wait()
	for _, node := range readRun(t, filepath.Join(out, "latest")).Nodes {
		want := map[metrics.Role]string{metrics.Server: first, metrics.Client: last}[node.Role]
		if node.Config == nil || node.Config.Cores != want || node.Config.MaxProcs != 1 {
			t.Errorf("%s: config %+v, want cores %s and GOMAXPROCS 1", node.Name, node.Config, want)
		}
	}

	text, err := exec.Command(filepath.Join(root, "bin", "kvscluster"), "--local", "--out", t.TempDir(), "--client-cores", "1000").CombinedOutput()
	if err == nil || cmd.ProcessState == nil || !strings.Contains(string(text), "kvsclient (node1): cores 1000: this node may run on "+allowed+" only") {
		t.Errorf("%v, output %q", err, text)
	}
}

func status(t *testing.T, pid string) string {
	t.Helper()
	text, err := os.ReadFile("/proc/" + pid + "/status")
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// processes lists those that run a program of the checkout.
func processes(root, program string) []int {
	var pids []int
	links, _ := filepath.Glob("/proc/[0-9]*/exe")
	for _, link := range links {
		if to, err := os.Readlink(link); err == nil && to == filepath.Join(root, "bin", program) {
			var pid int
			fmt.Sscanf(link, "/proc/%d/exe", &pid)
			pids = append(pids, pid)
		}
	}
	return pids
}
