package cluster

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"kvlab/kvs/cluster/plan"
	"kvlab/kvs/cluster/trial"
	"kvlab/metrics"
	"kvlab/metrics/format"
	"kvlab/workload/trace"
)

// inCI skips a test that takes long, or that needs root, a daemon or a cluster, unless
// KVLAB_CI=1 asks for every test.
func inCI(t *testing.T) {
	t.Helper()
	if os.Getenv("KVLAB_CI") != "1" {
		t.Skip("KVLAB_CI=1 runs it")
	}
}

// sshCluster is three sshd processes of this test's own, each with its key.
type sshCluster struct {
	config string // for ssh -F
	hosts  string // for --hosts
}

// clusters counts those that this process has started.
var clusters atomic.Int32

var sshNames = []string{"alpha", "beta", "gamma"}

func startSSHCluster(t *testing.T) sshCluster {
	t.Helper()
	inCI(t)
	sshd := "/usr/sbin/sshd" // sshd wants to be started by its full path
	for _, program := range []string{sshd, "ssh", "ssh-keygen"} {
		if _, err := exec.LookPath(program); err != nil {
			t.Fatalf("no %s on this machine", program)
		}
	}
	if os.Geteuid() == 0 {
		// The folder that sshd confines its unprivileged part to.
		if err := os.MkdirAll("/run/sshd", 0o755); err != nil {
			t.Fatal(err)
		}
	}
	me, err := user.Current()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	keygen(t, filepath.Join(dir, "user"))
	// The nodes' folder, which has the user's name, is this test's own.
	if err := os.Mkdir(filepath.Join(dir, "bin"), 0o755); err != nil {
		t.Fatal(err)
	}
	name := fmt.Sprintf("test-%d-%d", os.Getpid(), time.Now().UnixNano())
	if err := os.WriteFile(filepath.Join(dir, "bin", "id"), []byte("#!/bin/sh\necho "+name+"\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll("/tmp/kvlab-" + name) })
	var config, known, hosts strings.Builder
	// Addresses of this process's and this test's own: several share the machine.
	network := fmt.Sprintf("127.%d.%d", 1+os.Getpid()/250%250, os.Getpid()%250)
	first := 2 + len(sshNames)*int(clusters.Add(1)-1)
	for i, name := range sshNames {
		port := startSSHD(t, sshd, dir, name)
		key, err := os.ReadFile(filepath.Join(dir, name+".pub"))
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&known, "[127.0.0.1]:%d %s", port, key)
		fmt.Fprintf(&config, "Host %s\n  Port %d\n", name, port)
		fmt.Fprintf(&hosts, "%s addr=%s.%d\n", name, network, first+i)
	}
	// The key exchange and the cipher are those that take the least time.
	fmt.Fprintf(&config, "Host *\n  HostName 127.0.0.1\n  User %s\n  IdentityFile %s/user\n  IdentitiesOnly yes\n  UserKnownHostsFile %s/known\n  StrictHostKeyChecking yes\n  KexAlgorithms curve25519-sha256\n  Ciphers aes128-gcm@openssh.com\n  RequestTTY yes\n  RemoteCommand sh -l\n", me.Username, dir, dir)
	cluster := sshCluster{config: filepath.Join(dir, "config"), hosts: filepath.Join(dir, "hosts")}
	for path, text := range map[string]string{cluster.config: config.String(), cluster.hosts: hosts.String(), filepath.Join(dir, "known"): known.String()} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return cluster
}

func keygen(t *testing.T, path string) {
	t.Helper()
	if out, err := exec.Command("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "kvlab test", "-f", path).CombinedOutput(); err != nil {
		t.Fatalf("ssh-keygen: %v\n%s", err, out)
	}
}

// freePort returns a port on loopback on which no process listens.
func freePort(t *testing.T) int {
	t.Helper()
	free, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer free.Close()
	return free.Addr().(*net.TCPAddr).Port
}

// startSSHD starts an sshd on a free loopback port and waits until it greets.
func startSSHD(t *testing.T, sshd, dir, name string) (port int) {
	t.Helper()
	keygen(t, filepath.Join(dir, name))
	port = freePort(t)
	config := filepath.Join(dir, name+".sshd_config")
	// HOME keeps the user's own shell start-up files out of the test.
	text := fmt.Sprintf("ListenAddress 127.0.0.1\nPort %d\nHostKey %s/%s\nPidFile %s/%s.pid\nAuthorizedKeysFile %s/user.pub\nStrictModes no\nUsePAM no\nPasswordAuthentication no\nPermitRootLogin prohibit-password\nSetEnv PATH=%s/bin:/usr/local/bin:/usr/bin:/bin HOME=%s\n",
		port, dir, name, dir, name, dir, dir, dir)
	if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	var said bytes.Buffer
	cmd := exec.Command(sshd, "-D", "-e", "-f", config)
	cmd.Stderr = &said
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cmd.Process.Signal(syscall.SIGTERM)
		cmd.Wait()
		if t.Failed() {
			t.Logf("sshd %s: %s", name, said.String())
		}
	})
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
		conn, err := net.Dial("tcp", fmt.Sprintf("127.0.0.1:%d", port))
		if err != nil {
			continue
		}
		greeting := make([]byte, 4)
		conn.SetDeadline(deadline)
		n, _ := conn.Read(greeting)
		conn.Close()
		if string(greeting[:n]) == "SSH-" {
			return port
		}
	}
	t.Fatalf("sshd %s does not answer", name)
	return 0
}

// buildPrograms builds the real server and client, and further packages beside
// them. Their build id is this test's own, so that their copies on the nodes are
// too.
func buildPrograms(t *testing.T, further ...string) map[metrics.Role]string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "bin")
	id := fmt.Sprintf("-w -buildid=test-%d-%d", os.Getpid(), time.Now().UnixNano())
	args := []string{"build", "-buildvcs=false", "-pgo=off", "-ldflags", id, "-o", dir + "/", "kvlab/cmd/kvsserver", "kvlab/cmd/kvsclient"}
	cmd := exec.Command("go", append(args, further...)...)
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0") // as run-cluster.sh builds
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
	programs := make(map[metrics.Role]string)
	for _, role := range []metrics.Role{metrics.Server, metrics.Client} {
		programs[role] = filepath.Join(dir, plan.Program(role))
		sum := sumOf(t, programs[role])
		t.Cleanup(func() {
			copies, _ := filepath.Glob("/tmp/kvlab-*/" + sum[:16])
			for _, dir := range copies {
				os.RemoveAll(dir)
			}
		})
	}
	return programs
}

// sums has the SHA-256 of each program by its path. Tests that wait ask several times a second.
var sums sync.Map

// sumOf returns the SHA-256 of a program.
func sumOf(t *testing.T, path string) string {
	t.Helper()
	if sum, ok := sums.Load(path); ok {
		return sum.(string)
	}
	of, err := plan.Programs{"": path}.Sums()
	if err != nil {
		t.Fatal(err)
	}
	sums.Store(path, of[""])
	return of[""]
}

// running lists the processes that run a copy of a program.
func running(t *testing.T, program string) []int {
	t.Helper()
	sum := sumOf(t, program)
	var pids []int
	links, _ := filepath.Glob("/proc/[0-9]*/exe")
	for _, link := range links {
		if to, err := os.Readlink(link); err == nil && strings.Contains(to, "/"+sum[:16]+"/"+filepath.Base(program)) {
			var pid int
			fmt.Sscanf(link, "/proc/%d/exe", &pid)
			pids = append(pids, pid)
		}
	}
	return pids
}

// tracedReads writes a compiled trace of 1000 reads of 100 keys, and returns its path.
func tracedReads(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "t.kvt")
	b, err := trace.Create(path, "test", 0)
	for i := range 1000 {
		if err == nil {
			err = b.Add(trace.Input{Command: trace.Get, Name: "get", Key: fmt.Append(nil, i%100), Size: 50, Times: 1})
		}
	}
	if err == nil {
		_, err = b.Close("")
	}
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// TestSSHCluster runs the real programs on three nodes through real sshd
// processes: a run to its end, one whose server is killed, one that is
// interrupted. None leaves a process behind.
func TestSSHCluster(t *testing.T) {
	t.Parallel()
	cluster := startSSHCluster(t)
	programs := buildPrograms(t)
	newRun := func(t *testing.T) (*testRun, []string) {
		tr := newTrial(t)
		tr.Programs = programs
		tr.timeouts = trial.DefaultTimeouts()
		return tr, []string{"1", "2", "--hosts", cluster.hosts, "--ssh-config", cluster.config, "--out", tr.out,
			"--client-args", "-records 2000 -workers 4 -batch 16 -rate 200 -warmup 0", "--secs"}
	}
	// The certificates go with the arguments through ssh, and the trace as the programs: the
	// nodes' folder has no testdata.
	t.Run("valid", func(t *testing.T) {
		tr, args := newRun(t)
		here, err := os.Getwd()
		path, wrong := filepath.Rel(here, tracedReads(t))
		if err != nil || wrong != nil {
			t.Fatal(err, wrong)
		}
		args = append(args, "4", "--tls", "--replay", "testdata/../"+path, "--replay-loop")
		if err := tr.Run(context.Background(), args); err != nil {
			t.Fatalf("%v\n%s%s", err, tr.stdout.String(), tr.stderr.String())
		}
		waitNone(t, time.Minute, programs)
		run := tr.runJSON(t)
		if !run.Verdict.Valid || run.Ops == 0 || run.Total != run.Applied || !run.Encrypted() {
			t.Errorf("verdict %v, %d ops, verified %+v, applied %+v", run.Verdict, run.Ops, run.Total, run.Applied)
		}
		for i, node := range run.Nodes {
			if node.Name != sshNames[i] || node.Config == nil || node.Summary == nil {
				t.Errorf("node %d is %q, config %v, summary %v", i, node.Name, node.Config, node.Summary)
			}
		}
	})
	// What stands in an argument is the name of a file that the server writes.
	t.Run("arguments", func(t *testing.T) {
		tr, args := newRun(t)
		profile := filepath.Join(t.TempDir(), "two words 'single' \"double\" $HOME `id`;a|b&c\nnext line\\ *")
		args = append(args, "4", "--server-args", "-cpuprofile "+format.QuoteWord(profile))
		if err := tr.Run(context.Background(), args); err != nil {
			t.Fatalf("%v\n%s%s", err, tr.stdout.String(), tr.stderr.String())
		}
		if info, err := os.Stat(profile); err != nil || info.Size() == 0 {
			t.Errorf("the profile is not there under its name: %v", err)
		}
	})
	t.Run("killed", func(t *testing.T) {
		tr, args := newRun(t)
		ended := make(chan error, 1)
		go func() { ended <- tr.Run(context.Background(), append(args, "600")) }()
		tr.waitFor(t, "kvsserver-alpha.log", "ops/s")
		for _, pid := range running(t, programs[metrics.Server]) {
			syscall.Kill(pid, syscall.SIGKILL)
		}
		err := <-ended
		if v := tr.runJSON(t).Verdict; ExitStatus(err) != 1 || v.Node != "alpha" || !strings.Contains(v.Reason, "signal") {
			t.Errorf("verdict %v, %v", v, err)
		}
		waitNone(t, time.Minute, programs)
	})
	t.Run("interrupted", func(t *testing.T) {
		tr, args := newRun(t)
		ctx, cancel := context.WithCancel(context.Background())
		ended := make(chan error, 1)
		go func() { ended <- tr.Run(ctx, append(args, "600")) }()
		tr.waitFor(t, "kvsserver-alpha.log", "ops/s")
		cancel()
		if err := <-ended; ExitStatus(err) != 130 {
			t.Errorf("exit status %d (%v), want 130", ExitStatus(err), err)
		}
		waitNone(t, time.Minute, programs)
	})
}
