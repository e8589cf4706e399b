package cluster

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"kvlab/kvs/cluster/nodes"
)

// slurmNodes is how many slurmd processes a test cluster has, each one a node.
const slurmNodes = 5

// slurmCluster is a slurmctld, a slurmd for each node and a munged of this
// test's own, on loopback.
type slurmCluster struct {
	dir string // with slurm.conf
}

// startSlurm starts a cluster and waits until its nodes are idle.
func startSlurm(t *testing.T) slurmCluster {
	t.Helper()
	inCI(t)
	for _, program := range []string{"munged", "slurmctld", "slurmd", "salloc", "scancel", "scontrol", "sinfo", "srun"} {
		if _, err := exec.LookPath(program); err != nil {
			t.Fatalf("no %s on this machine", program)
		}
	}
	if os.Geteuid() != 0 {
		t.Fatal("slurmd wants to be root")
	}
	s := slurmCluster{dir: t.TempDir()}
	t.Cleanup(func() { s.endSteps(t) }) // after the daemons
	s.configure(t)
	s.daemon(t, "munged", "--foreground", "--force", "--key-file="+s.dir+"/munge.key", "--socket="+s.dir+"/munge.socket",
		"--pid-file="+s.dir+"/munge.pid", "--seed-file="+s.dir+"/munge.seed", "--log-file="+s.dir+"/munge.log")
	poll(t, 2*time.Minute, "munged makes its socket", func() bool {
		_, err := os.Stat(s.dir + "/munge.socket")
		return err == nil
	})
	s.daemon(t, "slurmctld", "-D", "-f", s.dir+"/slurm.conf")
	for i := range slurmNodes {
		s.daemon(t, "slurmd", "-D", "-N", fmt.Sprintf("node%d", i), "-f", s.dir+"/slurm.conf")
	}
	poll(t, 2*time.Minute, "all Slurm nodes are idle", func() bool {
		out, _ := s.command("sinfo", "-h", "-N", "-t", "idle", "-o", "%N").Output()
		return strings.Count(string(out), "node") == slurmNodes
	})
	return s
}

// configure writes slurm.conf and the key of munged. The nodes' addresses are
// this process's own, as several test runs share the machine.
func (s slurmCluster) configure(t *testing.T) {
	t.Helper()
	host, err := os.Hostname()
	if err != nil {
		t.Fatal(err)
	}
	me, err := user.Current()
	if err != nil {
		t.Fatal(err)
	}
	host, _, _ = strings.Cut(host, ".")
	var b strings.Builder
	fmt.Fprintf(&b, `ClusterName=kvlab
SlurmctldHost=%[1]s(127.0.0.1)
SlurmctldPort=%[2]d
SlurmUser=%[3]s
SlurmdUser=%[3]s
AuthType=auth/munge
AuthInfo=socket=%[4]s/munge.socket
CredType=cred/munge
StateSaveLocation=%[4]s/state
SlurmdSpoolDir=%[4]s/spool-%%n
SlurmctldPidFile=%[4]s/slurmctld.pid
SlurmdPidFile=%[4]s/slurmd-%%n.pid
PlugStackConfig=/dev/null
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core_Memory
SlurmdParameters=config_overrides
MpiDefault=none
KillWait=2
PartitionName=test Nodes=ALL Default=YES MaxTime=INFINITE State=UP
`, host, freePort(t), me.Username, s.dir)
	network := fmt.Sprintf("127.%d.%d", 1+os.Getpid()/250%250, os.Getpid()%250)
	for i := range slurmNodes {
		fmt.Fprintf(&b, "NodeName=node%d NodeHostname=%s NodeAddr=%s.%d Port=%d CPUs=4 RealMemory=1000\n", i, host, network, i+100, freePort(t))
	}
	key := bytes.Repeat([]byte("a test's key, on loopback alone\n"), 8)
	for name, text := range map[string][]byte{"slurm.conf": []byte(b.String()), "munge.key": key} {
		if err := os.WriteFile(filepath.Join(s.dir, name), text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Mkdir(s.dir+"/state", 0o700); err != nil {
		t.Fatal(err)
	}
}

// poll waits until something is so.
func poll(t *testing.T, within time.Duration, what string, is func() bool) {
	t.Helper()
	for deadline := time.Now().Add(within); !is(); time.Sleep(200 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("waited in vain until %s", what)
		}
	}
}

// daemon starts one of the cluster's processes, which the test's end ends.
func (s slurmCluster) daemon(t *testing.T, name string, args ...string) {
	t.Helper()
	var said safeBuffer
	cmd := s.command(name, args...)
	cmd.Stdout, cmd.Stderr = &said, &said
	cmd.WaitDelay = time.Second // a slurmstepd may hold the pipe
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cmd.Process.Signal(syscall.SIGTERM)
		hang := time.AfterFunc(10*time.Second, func() { cmd.Process.Kill() })
		defer hang.Stop()
		cmd.Wait()
		if t.Failed() {
			t.Logf("%s %q:\n%s", name, args, said.String())
		}
	})
}

// endSteps ends the cluster's slurmstepd processes. One whose slurmctld goes
// before it has reported its step's end would try to for ever.
func (s slurmCluster) endSteps(t *testing.T) {
	t.Helper()
	poll(t, 2*time.Minute, "no slurmstepd runs", func() bool {
		gone := true
		links, _ := filepath.Glob("/proc/[0-9]*/exe")
		for _, link := range links {
			to, _ := os.Readlink(link)
			environment, _ := os.ReadFile(filepath.Join(filepath.Dir(link), "environ"))
			if strings.Contains(to, "slurmstepd") && strings.Contains(string(environment), "SLURM_CONF="+s.dir+"/") {
				var pid int
				fmt.Sscanf(link, "/proc/%d/exe", &pid)
				syscall.Kill(pid, syscall.SIGKILL)
				gone = false
			}
		}
		return gone
	})
}

// command returns one of Slurm's programs, pointed at this cluster.
func (s slurmCluster) command(name string, args ...string) *exec.Cmd {
	cmd := exec.Command(name, args...)
	if name == "slurmctld" || name == "slurmd" { // in sbin, which is not on everybody's PATH
		cmd = exec.Command("/usr/sbin/"+name, args...)
	}
	cmd.Env = append(os.Environ(), "SLURM_CONF="+s.dir+"/slurm.conf")
	return cmd
}

var granted = regexp.MustCompile(`Granted job allocation ([0-9]+)`)

// allocate begins a job on some nodes, without a process. The
// programs in what it returns know the cluster.
func (s slurmCluster) allocate(t *testing.T, nodeList string) nodes.Slurm {
	t.Helper()
	out, err := s.command("salloc", "--no-shell", "--exclusive", "--mem=500", "-w", nodeList).CombinedOutput()
	match := granted.FindSubmatch(out)
	if err != nil || match == nil {
		t.Fatalf("salloc: %v\n%s", err, out)
	}
	job := nodes.Slurm{Job: string(match[1]), NodeList: nodeList}
	job.Scontrol = script(t, "scontrol", s.wrapper("scontrol"))
	job.Srun = script(t, "srun", s.wrapper("srun"))
	t.Cleanup(func() { s.cancel(t, job) })
	return job
}

func (s slurmCluster) wrapper(program string) string {
	return fmt.Sprintf("SLURM_CONF=%s/slurm.conf exec %s \"$@\"\n", s.dir, program)
}

// cancel ends a job and waits until its nodes are free again.
func (s slurmCluster) cancel(t *testing.T, job nodes.Slurm) {
	t.Helper()
	s.command("scancel", job.Job).Run() // it may have ended
	poll(t, 2*time.Minute, "job "+job.Job+" is over", func() bool {
		out, _ := s.command("squeue", "-h", "-j", job.Job).Output()
		return len(bytes.TrimSpace(out)) == 0
	})
}

// script writes an executable shell script.
func script(t *testing.T, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte("#!/bin/sh\n"+text), 0o755); err != nil {
		t.Fatal(err)
	}
	return path
}
