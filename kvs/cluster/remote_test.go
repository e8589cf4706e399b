package cluster

import (
	"context"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"kvlab/kvs/cluster/plan"
	"kvlab/metrics"
	"kvlab/metrics/format"
)

// fakeSSH stands for ssh, sshd and the node's login shell: it looks at its
// options as ssh does, joins the remote command's words as ssh does, and lets a
// shell here run them. Host "dead" cannot be reached, host "noisy" greets on
// standard output.
const fakeSSH = `
printf '%s\n' "$*" >>"$KVLAB_TEST_SSH_LOG"
while [ "$1" != -- ]; do
	case $1 in -o|-F|-p) shift ;; esac
	shift
done
shift
host=$1
shift
case $host in
dead) echo "ssh: connect to host dead port 22: Connection refused" >&2; exit 255 ;;
noisy) echo "Welcome to {this} machine"; echo "kvlabel" ;;
esac
exec sh -c "$*"
`

// newRemoteTrial returns a trial over fake ssh, with its own node folder:
// the fake id names the user after the test's process and directory.
func newRemoteTrial(t *testing.T) (tr *testRun, log, remoteDir string) {
	t.Helper()
	tr = newTrial(t)
	tr.SSH = script(t, "ssh", fakeSSH)
	tr.Programs = plan.Programs{metrics.Server: smallProgram(t, tr, metrics.Server), metrics.Client: smallProgram(t, tr, metrics.Client)}
	user := "test-" + filepath.Base(filepath.Dir(tr.out)) + "-" + filepath.Base(tr.out)
	id := script(t, "id", "echo "+user)
	log = filepath.Join(t.TempDir(), "ssh.log")
	t.Setenv("PATH", filepath.Dir(id)+":"+os.Getenv("PATH"))
	t.Setenv("KVLAB_TEST_SSH_LOG", log)
	remoteDir = "/tmp/kvlab-" + user
	t.Cleanup(func() { os.RemoveAll(remoteDir) })
	return tr, log, remoteDir
}

// smallProgram starts the program of a role, which is too large to be copied often. It
// is large enough to be cut off by TestDeploy.
func smallProgram(t *testing.T, tr *testRun, role metrics.Role) string {
	t.Helper()
	return script(t, plan.Program(role), fmt.Sprintf("exec %s \"$@\" # %s\n%s\n", tr.Programs[role], role, strings.Repeat("# more\n", 200)))
}

// nodeIP returns the loopback address of a node, for n below 4. Another test process on the same
// machine has other addresses.
func nodeIP(n int) string {
	own := uint32(os.Getpid())<<2 | uint32(n) // at most 24 bits (proc_sys_kernel(5), pid_max)
	return netip.AddrFrom4([4]byte{127, byte(own>>16) | 0x80, byte(own >> 8), byte(own)}).String()
}

func writeHosts(t *testing.T, lines ...string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "hosts.txt")
	if err := os.WriteFile(path, []byte(strings.Join(lines, "\n")), 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

// Whatever stands in a quoted argument reaches the node's program as it is.
func TestRemoteArguments(t *testing.T) {
	tr, log, _ := newRemoteTrial(t)
	hosts := writeHosts(t, "node0 ssh=me@quiet:2222 addr="+nodeIP(0), "node1 ssh=noisy addr="+nodeIP(1))
	nasty := []string{"two words", `"double" 'single'`, "$HOME", "`id`", "a;b|c&d", "line\nbreak", "", `back\slash`, "*", "größe"}
	var words []string
	for _, w := range nasty {
		words = append(words, format.QuoteWord(w))
	}
	err := tr.Run(context.Background(), []string{"1", "1", "-fake-clients node1", strings.Join(words, " "), "--hosts", hosts, "--out", tr.out})
	if err != nil {
		t.Fatalf("%v\n%s", err, tr.stderr.String())
	}
	run := tr.runJSON(t)
	args := run.Nodes[1].Config.Args
	if got := args[len(args)-len(nasty):]; !slices.Equal(got, nasty) {
		t.Errorf("arguments arrived as %q, want %q", got, nasty)
	}
	if run.Nodes[0].Address != nodeIP(0)+":8080" {
		t.Errorf("server's address %s", run.Nodes[0].Address)
	}
	text, err := os.ReadFile(log)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"BatchMode=yes", "ConnectTimeout=5", "ServerAliveInterval=5", "StrictHostKeyChecking=accept-new", "-p 2222 -- me@quiet sh -s", "-- noisy /tmp/kvlab-test-"} {
		if !strings.Contains(string(text), want) {
			t.Errorf("ssh was called without %q:\n%s", want, text)
		}
	}
	for _, secret := range []string{"two words", "HOME"} {
		if strings.Contains(string(text), secret) {
			t.Errorf("%q travelled through a command line", secret)
		}
	}
}

// A program is copied once, and again when its copy is damaged.
func TestDeploy(t *testing.T) {
	tr, _, dir := newRemoteTrial(t)
	hosts := writeHosts(t, "node0 addr="+nodeIP(0), "node1 addr="+nodeIP(1))
	known := make(map[string]os.FileInfo) // the copies of the run before
	copies := func() int {
		t.Helper()
		if err := tr.Run(context.Background(), []string{"1", "1", "-fake-clients node1", "", "--hosts", hosts, "--out", tr.out}); err != nil {
			t.Fatalf("%v\n%s", err, tr.stderr.String())
		}
		files, err := filepath.Glob(dir + "/*/kvs*")
		if err != nil {
			t.Fatal(err)
		}
		n := 0
		for _, file := range files {
			info, err := os.Stat(file)
			if err != nil {
				t.Fatal(err)
			}
			if !os.SameFile(known[file], info) {
				n++
			}
			known[file] = info
		}
		return n
	}
	if n := copies(); n != 2 {
		t.Errorf("first run copies %d programs, want 2", n)
	}
	if info, err := os.Stat(dir); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("folder %v, %v; want mode 0700", info, err)
	}
	if n := copies(); n != 0 {
		t.Errorf("second run copies %d programs, want 0", n)
	}
	files, err := filepath.Glob(dir + "/*/kvsserver")
	if err != nil || len(files) != 1 {
		t.Fatalf("programs %q, %v", files, err)
	}
	if err := os.Chmod(files[0], 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(files[0], 1000); err != nil {
		t.Fatal(err)
	}
	if n := copies(); n != 1 {
		t.Errorf("run after damage copies %d programs, want 1", n)
	}
}

func TestRemoteFaults(t *testing.T) {
	t.Run("unreachable", func(t *testing.T) {
		tr, _, _ := newRemoteTrial(t)
		hosts := writeHosts(t, "node0 addr="+nodeIP(0), "node1 ssh=dead addr="+nodeIP(1))
		err := tr.Run(context.Background(), []string{"--hosts", hosts, "--out", tr.out})
		if v := tr.runJSON(t).Verdict; ExitStatus(err) != 1 || v.Node != "node1" || !strings.Contains(v.Reason, "cannot be reached: ssh: connect to host dead") {
			t.Errorf("verdict %v, %v", v, err)
		}
	})
	t.Run("foreign folder", func(t *testing.T) {
		tr, _, dir := newRemoteTrial(t)
		if err := os.Symlink(t.TempDir(), dir); err != nil {
			t.Fatal(err)
		}
		hosts := writeHosts(t, "node0 addr="+nodeIP(0), "node1 addr="+nodeIP(1))
		err := tr.Run(context.Background(), []string{"--hosts", hosts, "--out", tr.out})
		if v := tr.runJSON(t).Verdict; ExitStatus(err) != 1 || v.Node != "node0" || !strings.Contains(v.Reason, "belongs to somebody else") {
			t.Errorf("verdict %v, %v", v, err)
		}
	})
	t.Run("killed", func(t *testing.T) {
		tr, _, _ := newRemoteTrial(t)
		hosts := writeHosts(t, "node0 addr="+nodeIP(0), "node1 addr="+nodeIP(1))
		err := tr.Run(context.Background(), []string{"1", "1", "-fake-clients node1 node0:kill:window", "", "--hosts", hosts, "--out", tr.out})
		if v := tr.runJSON(t).Verdict; ExitStatus(err) != 1 || v.Node != "node0" || !strings.Contains(v.Reason, "died of signal 9") {
			t.Errorf("verdict %v, %v", v, err)
		}
		tr.checkGone(t, 2)
	})
}
