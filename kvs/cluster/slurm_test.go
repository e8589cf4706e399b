package cluster

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"kvlab/kvs/cluster/nodes"
	"kvlab/kvs/cluster/plan"
	"kvlab/kvs/cluster/trial"
	"kvlab/metrics"
)

// slurmRun is a run of the real programs through a real Slurm.
type slurmRun struct {
	*testRun
	job  nodes.Slurm
	args []string
}

func newSlurmRun(t *testing.T, s slurmCluster, programs map[metrics.Role]string, nodeList string) *slurmRun {
	t.Helper()
	tr := newTrial(t)
	tr.Programs = programs
	tr.timeouts = trial.DefaultTimeouts()
	r := &slurmRun{testRun: tr, job: s.allocate(t, nodeList)}
	tr.Slurm = r.job
	r.args = []string{"--no-ceiling", "--out", tr.out, "--client-args", "-records 2000 -workers 4 -batch 16 -rate 200 -warmup 0", "--secs"}
	return r
}

// begin starts a long run and waits until its first server counts operations.
func (r *slurmRun) begin(ctx context.Context, t *testing.T, server string) <-chan error {
	t.Helper()
	ended := make(chan error, 1)
	go func() {
		err := r.Run(ctx, append(r.args, "600"))
		if t.Context().Err() == nil && !errors.Is(err, plan.ErrInterrupted) {
			t.Logf("the run ends with %v\n%s", err, r.stderr.String())
		}
		ended <- err
	}()
	r.waitFor(t, "kvsserver-"+server+".log", "ops/s")
	return ended
}

// inJob lists the processes of the job that run a copy of a program.
func (r *slurmRun) inJob(t *testing.T, role metrics.Role) []int {
	t.Helper()
	var pids []int
	for _, pid := range running(t, r.Programs[role]) {
		environment, _ := os.ReadFile(fmt.Sprintf("/proc/%d/environ", pid))
		if strings.Contains("\x00"+string(environment), "\x00SLURM_JOB_ID="+r.job.Job+"\x00") {
			pids = append(pids, pid)
		}
	}
	return pids
}

func (r *slurmRun) checkNodesGone(t *testing.T) {
	t.Helper()
	for role := range r.Programs {
		poll(t, 2*time.Minute, "no "+plan.Program(role)+" runs", func() bool { return len(r.inJob(t, role)) == 0 })
	}
}

// TestSlurm runs the real programs on the nodes of a real Slurm cluster: a run
// to its end, runs whose server, launcher or job ends, and one that is
// interrupted. None leaves a process behind.
func TestSlurm(t *testing.T) {
	t.Parallel()
	cluster := startSlurm(t)
	programs := buildPrograms(t, "kvlab/cmd/kvscluster")
	kvscluster := filepath.Join(filepath.Dir(programs[metrics.Server]), "kvscluster")
	const nodes, others = "node[0-2]", "node[3-4]"

	// slurmctld looks at time limits each 30 s, so this one goes beside the
	// others, on its own nodes.
	t.Run("time limit", func(t *testing.T) {
		t.Parallel()
		r := newSlurmRun(t, cluster, programs, others)
		ended := r.begin(context.Background(), t, "node3")
		soon := time.Now().Add(2 * time.Second).Format("2006-01-02T15:04:05")
		if out, err := cluster.command("scontrol", "update", "JobId="+r.job.Job, "EndTime="+soon).CombinedOutput(); err != nil {
			t.Fatalf("scontrol update: %v\n%s", err, out)
		}
		err := <-ended
		if v, want := r.runJSON(t).Verdict.String(), "INVALID(Slurm job "+r.job.Job+" has reached its time limit)"; ExitStatus(err) != 1 || v != want {
			t.Errorf("verdict %s, %v; want %s", v, err, want)
		}
		r.checkNodesGone(t)
	})
	t.Run("in turn", func(t *testing.T) {
		t.Parallel()
		t.Run("valid", func(t *testing.T) { testSlurmValid(t, cluster, kvscluster, nodes) })
		t.Run("foreign store", func(t *testing.T) { testSlurmTarget(t, cluster, kvscluster, nodes) })
		t.Run("killed server", func(t *testing.T) {
			r := newSlurmRun(t, cluster, programs, nodes)
			ended := r.begin(context.Background(), t, "node0")
			for _, pid := range r.inJob(t, metrics.Server) {
				syscall.Kill(pid, syscall.SIGKILL)
			}
			err := <-ended
			if v := r.runJSON(t).Verdict; ExitStatus(err) != 1 || v.Node != "node0" || v.Reason != "died of signal 9 (killed) (srun: error: node0: task 0: Killed)" {
				t.Errorf("verdict %v, %v", v, err)
			}
			r.checkNodesGone(t)
		})
		t.Run("interrupted", func(t *testing.T) {
			r := newSlurmRun(t, cluster, programs, nodes)
			ctx, cancel := context.WithCancel(context.Background())
			ended := r.begin(ctx, t, "node0")
			cancel()
			if err := <-ended; ExitStatus(err) != 130 {
				t.Errorf("exit status %d (%v), want 130", ExitStatus(err), err)
			}
			r.checkNodesGone(t)
		})
		t.Run("cancelled job", func(t *testing.T) {
			r := newSlurmRun(t, cluster, programs, nodes)
			ended := r.begin(context.Background(), t, "node0")
			cluster.cancel(t, r.job)
			err := <-ended
			if v := r.runJSON(t).Verdict; ExitStatus(err) != 1 || !strings.HasPrefix(v.Reason, "Slurm job "+r.job.Job+" has been ended (C") {
				t.Errorf("verdict %v, %v", v, err)
			}
			r.checkNodesGone(t)
		})
		t.Run("killed launcher", func(t *testing.T) {
			r := newSlurmRun(t, cluster, programs, nodes)
			launcher := cluster.command(kvscluster, append(r.args, "600")...)
			launcher.Env = append(launcher.Env, "SLURM_JOB_ID="+r.job.Job, "SLURM_JOB_NODELIST="+nodes)
			if err := launcher.Start(); err != nil {
				t.Fatal(err)
			}
			r.waitFor(t, "kvsserver-node0.log", "ops/s")
			launcher.Process.Kill()
			launcher.Wait()
			r.checkNodesGone(t)
		})
	})
}

// salloc runs the launcher itself as a user does, inside of salloc, and returns the run.
func (s slurmCluster) salloc(t *testing.T, kvscluster, nodes string, args ...string) metrics.Run {
	t.Helper()
	tr := newTrial(t)
	cmd := s.command("salloc", append([]string{"-w", nodes, "--exclusive", "--mem=500", kvscluster,
		"--out", tr.out, "--client-args", "-records 2000 -workers 4 -batch 16 -rate 2k -warmup 0", "--secs", "1"}, args...)...)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("salloc: %v\n%s", err, out)
	}
	return tr.runJSON(t)
}

func testSlurmValid(t *testing.T, s slurmCluster, kvscluster, nodes string) {
	t.Helper()
	run := s.salloc(t, kvscluster, nodes)
	if !run.Verdict.Valid || run.Ops == 0 || run.Total != run.Applied {
		t.Errorf("verdict %v, %d ops, verified %+v, applied %+v", run.Verdict, run.Ops, run.Total, run.Applied)
	}
	for i, node := range run.Nodes {
		if node.Name != fmt.Sprintf("node%d", i) || node.Config == nil || node.Summary == nil {
			t.Errorf("node %d is %q, config %v, summary %v", i, node.Name, node.Config, node.Summary)
		}
	}
	if len(run.Nodes) != 3 {
		t.Errorf("%d nodes, want 3", len(run.Nodes))
	}
}

// testSlurmTarget measures a store that the launcher builds. It is deployed to the nodes of
// the servers, which host it, and its processes end with them.
func testSlurmTarget(t *testing.T, s slurmCluster, kvscluster, nodes string) {
	t.Helper()
	redis, err := exec.LookPath("redis-server")
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "copied.toml")
	text := fmt.Sprintf("name = 'copied'\ndriver = 'redis'\nbuild = 'cp %s {bin}'\nrun = \"{bin} --bind {host} --port {port} --save '' --protected-mode no\"\n", redis)
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	run := s.salloc(t, kvscluster, nodes, "--target", file, "2", "1")
	if !run.Verdict.Valid || run.Counting != metrics.CountsExact || run.Ops == 0 || run.Total.Ops() != run.Applied.Ops() {
		t.Errorf("verdict %v, counts %s, verified %+v, applied %+v", run.Verdict, run.Counting, run.Total, run.Applied)
	}
	for _, server := range run.Servers() {
		if used := server.Summary.Saturation.ProcessCPUPercent; used == 0 {
			t.Errorf("the store of %s used no processor time", server.Name)
		}
	}
	links, _ := filepath.Glob("/proc/[0-9]*/exe")
	for _, link := range links {
		program, _ := os.Readlink(link)
		environment, _ := os.ReadFile(filepath.Join(filepath.Dir(link), "environ"))
		if strings.Contains(program, "/store-") && strings.Contains(string(environment), "SLURM_CONF="+s.dir+"/") {
			t.Errorf("%s, %s, still runs", link, program)
		}
	}
}
