package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
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

	"kvlab/internal/labtest"
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

// Stores that come with kvlab, one that runs, and a program that a file builds, are
// measured by one command. Their own counters say what the clients verified.
func TestTargets(t *testing.T) {
	inCI(t)
	redistest.Need(t, "redis-server", "memcached")
	t.Parallel()
	dir := t.TempDir()
	file := filepath.Join(dir, "team-7.toml")
	for name, text := range map[string]string{
		"server.go":   labtest.Source,
		"team-7.toml": "name = 'team-7'\ndriver = 'lab'\npreset = 'base'\nbuild = 'go build -o {bin} server.go'\nrun = '{bin} -port {port}'\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, test := range []struct {
		name, driver string
		args         []string
		counting     metrics.Counting
	}{
		{"redis", "redis", []string{"2", "--target", "redis"}, metrics.CountsExact},
		{"redis on disk", "redis", []string{"--target", "redis-aof"}, metrics.CountsExact},
		{"redis cluster", "redis-cluster", []string{"3", "2", "--target", "redis-cluster"}, metrics.CountsExact},
		{"memcached", "memcached", []string{"--target", "memcached"}, metrics.CountsExact},
		{"a store that runs", "redis", []string{"--target", "redis://" + redistest.Start(t).Addr + "," + redistest.Start(t).Addr}, metrics.CountsExact},
		{"a program", "lab", []string{"--target", file}, metrics.CountsNone},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			run, output := measure(t, test.args...)
			if !strings.HasSuffix(output, "\nverdict VALID\n") || !strings.Contains(output, "checked  counts "+string(test.counting)) || !strings.Contains(output, " ops/s on "+run.Store.Title()+", ") {
				t.Errorf("%s", output)
			}
			if run.Counting != test.counting || run.Store == nil || run.Store.Driver != test.driver || run.StrangerReads != 0 {
				t.Errorf("counts %s, store %+v, %d reads of strangers", run.Counting, run.Store, run.StrangerReads)
			}
			if applied := run.Applied; test.counting == metrics.CountsExact && applied.Ops() != run.Total.Ops() {
				t.Errorf("the clients verified %+v, the store counted %+v", run.Total, applied)
			}
			for _, server := range run.Servers() {
				if p := server.Summary.Saturation; p.ProcessCPUPercent <= 0 || p.ProcessRSSBytes == 0 {
					t.Errorf("the store's process used %.1f %% and %d bytes", p.ProcessCPUPercent, p.ProcessRSSBytes)
				}
			}
		})
	}
}

// A program that a file builds is deployed to other hosts. A sweep over stores names them,
// and says in which conditions they differ.
func TestTargetsElsewhere(t *testing.T) {
	inCI(t)
	redistest.Need(t, "redis-server", "memcached")
	t.Parallel()
	program, err := exec.LookPath("redis-server")
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "copied.toml")
	text := fmt.Sprintf("name = 'copied'\ndriver = 'redis'\nbuild = 'cp %s {bin}'\nrun = \"{bin} --bind {host} --port {port} --save '' --protected-mode no\"\n", program)
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Run("virtual hosts", func(t *testing.T) {
		t.Parallel()
		out := t.TempDir()
		said, err := exec.Command(filepath.Join(build(t), "bin", "kvscluster"), "--virtual", "3", "2", "1", "--out", out, "--target", file,
			"--records", "10000", "--workers", "4", "--batch", "64", "--rate", "5k", "--warmup", "0", "--secs", "2").CombinedOutput()
		if err != nil {
			t.Fatalf("%v\n%s", err, said)
		}
		run := readRun(t, filepath.Join(out, "latest"))
		if run.Counting != metrics.CountsExact || run.Store.Name != "copied" || run.Ceiling == nil || run.Ceiling.NullOpsPerS == 0 || run.Ceiling.Protocol != "RESP" {
			t.Errorf("counts %s, store %+v, ceiling %+v", run.Counting, run.Store, run.Ceiling)
		}
	})
	t.Run("sweep", func(t *testing.T) {
		t.Parallel()
		out := t.TempDir()
		said, err := exec.Command(filepath.Join(build(t), "bin", "kvscluster"), "--local", "--no-ceiling", "--out", out, "--sweep", "target=own,memcached,"+file,
			"--records", "10000", "--workers", "4", "--batch", "64", "--rate", "5k", "--warmup", "0", "--secs", "1").CombinedOutput()
		if err != nil {
			t.Fatalf("%v\n%s", err, said)
		}
		for _, want := range []string{"target=own ", "target=memcached ", "target=copied ", "these stores differ in connections (", "state it beside a ranking", "(CLASSES)"} {
			if !strings.Contains(string(said), want) {
				t.Errorf("no %q in\n%s", want, said)
			}
		}
		if _, err := os.Stat(filepath.Join(out, "latest", "scaling_target.png")); err != nil {
			t.Error(err)
		}
	})
}

// refused makes a run that is not VALID, and returns what a terminal shows of it, without the
// folder's name.
func refused(t *testing.T, args ...string) (said, out string) {
	t.Helper()
	out = t.TempDir()
	text, err := exec.Command(filepath.Join(build(t), "bin", "kvscluster"), append([]string{"--local", "--no-ceiling", "--out", out, "--secs", "1"}, args...)...).CombinedOutput()
	if err == nil {
		t.Errorf("%v passes", args)
	}
	return regexp.MustCompile(`(?m)^logs .*`).ReplaceAllString(string(text), "logs"), filepath.Join(out, "latest")
}

// A store that ends is told once, by its name and in its own words, and its output is kept as
// it is. A server that does not speak by HTTP is named in 6 s.
func TestAStoreEndsInItsOwnWords(t *testing.T) {
	t.Parallel()
	const crash = "ops/s 12.00\nfatal error: concurrent map writes\n\ngoroutine 1 [running]:\nmain.(*KVService).Put(0x0)\n\t./main.go:18 +0x39\n"
	target, err := json.Marshal(map[string]string{"name": "team-7", "driver": "lab", "run": `sh -c 'printf "%s" "$0"; exit 2' "` + crash + `" {port}`})
	if err != nil {
		t.Fatal(err)
	}
	said, dir := refused(t, "--target", string(target))
	const want = "INVALID: the store team-7 has ended: exit status 2: fatal error: concurrent map\n  writes (node0)\nlogs\nnext     read store-node0.log; docs/measuring.md explains each check\n" +
		"verdict INVALID(the store team-7 has ended: exit status 2: fatal error: concurrent map writes, node0)\n"
	if said != want {
		t.Errorf("%s\nwant\n%s", said, want)
	}
	if log, err := os.ReadFile(filepath.Join(dir, "store-node0.log")); err != nil || string(log) != crash {
		t.Errorf("log %q, %v", log, err)
	}
}

// The stores that come with kvlab and have passwords let no stranger in, and no process shows
// the password.
func TestStartedStoresAreClosed(t *testing.T) {
	inCI(t)
	redistest.Need(t, "redis-server")
	t.Parallel()
	for _, name := range []string{"redis", "redis-cluster"} {
		out := t.TempDir()
		cmd := exec.Command(filepath.Join(build(t), "bin", "kvscluster"), "--local", "--no-ceiling", "--out", out, "--target", name, "1", "1", "--records", "5000", "--workers", "4", "--rate", "5k", "--warmup", "0", "--secs", "3")
		var stdout bytes.Buffer
		cmd.Stdout = &stdout
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		latest := filepath.Join(out, "latest")
		waitFor(t, filepath.Join(latest, "kvsclient-node1.log"), "phase window")
		log, err := os.ReadFile(filepath.Join(latest, "kvsserver-node0.log"))
		if err != nil {
			t.Fatal(err)
		}
		address := answersOn.FindStringSubmatch(string(log))[1]
		conn, err := net.Dial("tcp", address)
		if err != nil {
			t.Fatal(err)
		}
		answer := make([]byte, len("-NOAUTH"))
		if _, err := fmt.Fprint(conn, "GET x\r\n"); err != nil {
			t.Error(err)
		} else if _, err := io.ReadFull(conn, answer); err != nil || string(answer) != "-NOAUTH" {
			t.Errorf("%s answers a stranger %q, %v", name, answer, err)
		}
		conn.Close()
		if err := cmd.Wait(); err != nil || !strings.HasSuffix(stdout.String(), "\nverdict VALID\n") {
			t.Errorf("%v\n%s", err, &stdout)
		}
	}
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
// run INVALID with its reason and the server's name. A stranger's reads are only told.
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
		want    string // part of the verdict
		cluster bool
	}{
		{"a stranger writes", tell("SET stranger x"), "a stranger wrote, or some were sent twice", false},
		{"a stranger counts", tell("INCR stranger"), "executed 1 INCR, which no client of the run sends: a stranger's, node0)", false},
		{"a stranger reads", tell("GET stranger", "GET other"), "VALID", false},
		{"counters are reset", tell("CONFIG RESETSTAT"), "was reset, node0)", false},
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
				if valid := fault.want == "VALID"; !strings.Contains(verdict, fault.want) || strings.HasPrefix(verdict, "VALID") != valid {
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
	const open = `{"driver":%q,"run":"redis-server --bind {host} --port {port} --dir {dir} --save '' --appendonly no --protected-mode no%s"}` // without a password, for strangers
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
