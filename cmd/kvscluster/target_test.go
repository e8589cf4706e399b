package main

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"kvlab/internal/redistest"
	"kvlab/metrics"
)

// clean returns a folder for temporary files. At the end of the test it must be empty, and
// no process may run in it, as the stores do.
func clean(t *testing.T) (dir string) {
	dir = t.TempDir()
	t.Cleanup(func() {
		links, _ := filepath.Glob("/proc/[0-9]*/cwd")
		for _, link := range links {
			if to, err := os.Readlink(link); err == nil && strings.HasPrefix(to, dir) {
				t.Errorf("%s still runs in %s", link, to)
			}
		}
		if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
			t.Errorf("left over: %v, %v", left, err)
		}
	})
	return dir
}

// measure makes a short run and returns its run.json and output.
func measure(t *testing.T, args ...string) (metrics.Run, string) {
	t.Helper()
	out := t.TempDir()
	args = append([]string{"--local", "--no-ceiling", "--out", out, "--records", "10000", "--workers", "4", "--batch", "32", "--rate", "5k", "--warmup", "0", "--secs", "2"}, args...)
	cmd := exec.Command(filepath.Join(build(t), "bin", "kvscluster"), args...)
	cmd.Env = append(os.Environ(), "TMPDIR="+clean(t))
	text, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %v\n%s", args, err, text)
	}
	return readRun(t, filepath.Join(out, "latest")), string(text)
}

// redisCLI sends a command to a Redis, and returns the answer.
func redisCLI(t *testing.T, address string, words ...string) string {
	t.Helper()
	host, port, _ := net.SplitHostPort(address)
	out, err := exec.Command("redis-cli", append([]string{"-h", host, "-p", port}, words...)...).Output()
	if err != nil {
		t.Fatalf("redis-cli %q: %v", words, err)
	}
	return strings.TrimSpace(string(out))
}

// infoOf returns a number in a Redis' INFO.
func infoOf(t *testing.T, address, name string) int {
	t.Helper()
	_, rest, _ := strings.Cut(redisCLI(t, address, "INFO"), name+":")
	number, err := strconv.Atoi(strings.Fields(rest + " ?")[0])
	if err != nil {
		t.Fatalf("INFO has no number %s", name)
	}
	return number
}

func tell(commands ...string) func(t *testing.T, address string) {
	return func(t *testing.T, address string) {
		for _, command := range commands {
			redisCLI(t, address, strings.Fields(command)...)
		}
	}
}

func killStore(t *testing.T, address string) {
	if err := syscall.Kill(infoOf(t, address, "process_id"), syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
}

// moveSlot gives a slot without keys to another master.
func moveSlot(t *testing.T, address string) {
	own, other := "", ""
	for line := range strings.Lines(redisCLI(t, address, "CLUSTER", "NODES")) {
		if fields := strings.Fields(line); strings.Contains(line, "myself") {
			own = fields[len(fields)-1]
		} else {
			other = fields[0]
		}
	}
	first, _, _ := strings.Cut(own, "-")
	slot, err := strconv.Atoi(first)
	if err != nil {
		t.Fatalf("slots %q", own)
	}
	for redisCLI(t, address, "CLUSTER", "COUNTKEYSINSLOT", strconv.Itoa(slot)) != "0" {
		slot++
	}
	redisCLI(t, address, "CLUSTER", "SETSLOT", strconv.Itoa(slot), "NODE", other)
}

// What happens to a real Redis in the window, at a moment that the seed chooses, makes the
// run INVALID with its reason and the server's name. A third-party client's reads are only told.
func TestPlantedFaults(t *testing.T) {
	inCI(t)
	redistest.Need(t, "redis-server", "redis-cli")
	t.Parallel()
	seeds := uint64(1)
	if os.Getenv("KVLAB_LONG") == "1" {
		seeds = 20
	}
	for _, fault := range []struct {
		name    string
		plant   func(t *testing.T, address string)
		want    string // the verdict matches it; the test's redis-cli may be connected still
		cluster bool
	}{
		{"a third-party client writes", tell("SET stranger x"), "a third-party client wrote, or some were sent twice", false},
		{"a third-party client counts", tell("INCR stranger"), `executed 1 INCR, which no client of the run sends: a third-party client's(; others are connected from \S+ \((INFO|NULL)\))?, node0\)$`, false},
		{"a third-party client reads", tell("GET stranger", "GET other"), "VALID", false},
		{"counters are reset", tell("CONFIG RESETSTAT"), `was reset, node0\)`, false},
		{"memory is full", tell("CONFIG SET maxmemory 1"), "OOM command not allowed", false},
		{"keys are evicted", tell("CONFIG SET maxmemory-policy allkeys-random", "CONFIG SET maxmemory 1500000"), "the store's evicted_keys went from 0 to ", false},
		{"the store is killed", killStore, "has ended: signal: killed", false},
		{"a slot is moved", moveSlot, "the store's hash of the slots went from ", true},
		{"a master is killed", killStore, "has ended: signal: killed", true},
	} {
		for seed := range seeds {
			t.Run(fmt.Sprintf("%s/seed %d", fault.name, seed), func(t *testing.T) {
				t.Parallel()
				verdict := disturbed(t, fault.cluster, rand.New(rand.NewPCG(seed, 0)), fault.plant)
				if valid := fault.want == "VALID"; !regexp.MustCompile(fault.want).MatchString(verdict) || strings.HasPrefix(verdict, "VALID") != valid {
					t.Errorf("verdict %s, want %q", verdict, fault.want)
				}
			})
		}
	}
}

var answersOn = regexp.MustCompile(`answers on (\S+)`)

// disturbed runs a Redis, or a cluster of three, plants a fault in one of them, and returns
// the verdict.
func disturbed(t *testing.T, cluster bool, random *rand.Rand, plant func(t *testing.T, address string)) string {
	t.Helper()
	const records, rate = 6000, 3000
	out := t.TempDir()
	const open = `{"driver":%q,"run":"redis-server --bind {host} --port {port} --dir {dir} --save '' --appendonly no --protected-mode no%s"}` // without a password, for third-party clients
	args := []string{"--local", "--no-ceiling", "--out", out, "--target", fmt.Sprintf(open, "redis", ""), "1", "1"}
	if cluster {
		args = []string{"--local", "--no-ceiling", "--out", out, "--target", fmt.Sprintf(open, "redis-cluster", " --cluster-enabled yes --cluster-port {port2}"), "3", "1"}
	}
	cmd := exec.Command(filepath.Join(build(t), "bin", "kvscluster"), append(args,
		"--records", strconv.Itoa(records), "--value-size", "256", "--workers", "4", "--batch", "64", "--rate", strconv.Itoa(rate), "--warmup", "0", "--secs", "3")...)
	var stdout bytes.Buffer
	cmd.Stdout, cmd.Env = &stdout, append(os.Environ(), "TMPDIR="+clean(t))
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { cmd.Process.Kill() })
	latest, client := filepath.Join(out, "latest"), "node1"
	if cluster {
		client = "node3"
	}
	waitFor(t, filepath.Join(latest, "kvsclient-"+client+".log"), "phase window")
	server := random.IntN(strings.Count(client, "3")*3 + strings.Count(client, "1"))
	log, err := os.ReadFile(filepath.Join(latest, fmt.Sprintf("kvsserver-node%d.log", server)))
	if err != nil {
		t.Fatal(err)
	}
	address := answersOn.FindStringSubmatch(string(log))[1]
	begun := infoOf(t, address, "total_commands_processed")
	for moment := random.IntN(rate / 4); infoOf(t, address, "total_commands_processed")-begun < moment; {
	}
	plant(t, address)
	_ = cmd.Wait() // the verdict says it
	_, verdict, _ := strings.Cut(stdout.String(), "\nverdict ")
	return strings.TrimSpace(verdict)
}
