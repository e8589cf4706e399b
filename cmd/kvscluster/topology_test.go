package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"kvlab/metrics"
)

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
