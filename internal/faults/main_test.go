package faults

import (
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"kvlab/kvs/cluster/virtual"
	"kvlab/metrics"
)

// The environment variables of these tests' processes.
const (
	rootVariable   = "KVLAB_FAULTS_ROOT"   // a folder with the programs in bin
	listenVariable = "KVLAB_FAULTS_LISTEN" // to be a stranger that listens on this address
)

// TestMain lets the test binary be each process of a lab. The tests run as the program
// inside the lab: they see every host's processes, files and links, and the lab outlives
// each launcher that they start.
func TestMain(m *testing.M) {
	status, ok := virtual.Main()
	switch address := os.Getenv(listenVariable); {
	case ok:
	case address != "":
		status = listen(address)
	default:
		status = m.Run()
	}
	os.Exit(status)
}

// listening is a stranger's line when it listens.
const listening = "listening\n"

// listen listens until standard input closes.
func listen(address string) (status int) {
	if _, err := net.Listen("tcp", address); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	fmt.Print(listening)
	io.Copy(io.Discard, os.Stdin)
	return 0
}

// build puts the real programs into the bin folder of an empty checkout. Their build id is
// unique, so that no other test has copies of them.
func build(t *testing.T) (root string) {
	t.Helper()
	if os.Getenv("KVLAB_CI") != "1" && !long() {
		t.Skip("KVLAB_CI=1 runs it")
	}
	if os.Geteuid() != 0 {
		t.Fatal("a virtual lab needs root")
	}
	for _, program := range []string{"ip", "tc", "nft", "ssh", "ssh-keygen", "nsenter", "/usr/sbin/sshd"} {
		if _, err := exec.LookPath(program); err != nil {
			t.Fatal(err)
		}
	}
	root = t.TempDir()
	id := fmt.Sprintf("-w -buildid=faults-%d-%d", os.Getpid(), time.Now().UnixNano())
	cmd := exec.Command("go", "build", "-buildvcs=false", "-pgo=off", "-ldflags", id, "-o", filepath.Join(root, "bin")+"/",
		"kvlab/cmd/kvscluster", "kvlab/cmd/kvsserver", "kvlab/cmd/kvsclient")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
	return root
}

// TestFaults enters a lab and breaks it in each way. KVLAB_LONG=1 draws 20 faults of each
// kind, prints a table of the results, and takes some 8 minutes. KVLAB_SEED=N repeats an
// earlier run's draws.
func TestFaults(t *testing.T) {
	if virtual.Inside() {
		t.Run("rows", inside)
		return
	}
	t.Setenv(rootVariable, build(t))
	before := traces()
	_, rows, _ := strings.Cut(flag.Lookup("test.run").Value.String(), "/")
	var said strings.Builder
	status, err := virtual.Enter(t.Context(), []string{
		"-test.run=^TestFaults$/" + rows, fmt.Sprintf("-test.parallel=%d", pairs()), "-test.timeout=60m",
	}, &said, &said, nil)
	if err != nil || status != 0 {
		t.Logf("in the lab:\n%s", said.String())
		t.Errorf("the tests in the lab end with status %d, %v", status, err)
	}
	if _, result, ok := strings.Cut(said.String(), tableBegins); ok {
		result, _, _ = strings.Cut(result, tableEnds)
		t.Logf("\n%s", result)
	}
	checkGone(t, rootVariable+"="+os.Getenv(rootVariable), before)
}

// long reports whether all 20 faults of each kind are drawn.
func long() bool { return os.Getenv("KVLAB_LONG") == "1" }

// pairs returns the lab's number of pairs of a server's and a client's host, and of faults at a
// time. Pairs mostly wait.
func pairs() int {
	if long() {
		return 6
	}
	return 3
}

// inside brings the lab up and runs every fault on a pair of hosts.
func inside(t *testing.T) {
	up, err := virtual.Start(t.Context(), metrics.Lab{Hosts: 2 * pairs()})
	if err != nil {
		t.Fatal(err)
	}
	hosts := findHosts(t)
	if len(hosts) != 2*pairs() {
		t.Fatalf("the lab has %d hosts, want %d", len(hosts), 2*pairs())
	}
	free := make(chan *pair, pairs())
	for i := range pairs() {
		free <- &pair{server: hosts[2*i], client: hosts[2*i+1], ssh: up.SSHConfig}
	}
	take := func(t *testing.T) *pair {
		t.Parallel()
		p := <-free
		t.Cleanup(func() { free <- p })
		return p
	}
	seed := seedOf(t)
	var results results
	t.Run("kinds", func(t *testing.T) { strikeAll(t, seed, take, &results) })
	fmt.Print(tableBegins, &results, tableEnds)
	for i := range launchers(endedInside) {
		random := rand.New(rand.NewPCG(seed, uint64(i)))
		t.Run(fmt.Sprintf("launcher ended %02d", i), func(t *testing.T) { checkEnded(t, take(t), random) })
	}
}
