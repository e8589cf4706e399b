package mutants

import (
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"kvlab/metrics"
)

// honest are settings of runs without a mutant: of the launcher, and of the clients.
var honest = []mutant{
	{},
	{client: "-batch 2048 -workload YCSB-A"},
	{client: "-batch 1 -workload YCSB-F"},
	{client: "-batch auto"},
	{client: "-inflight 4 -distribution uniform"},
	{client: "-rate 20k"},
	{client: "-rate 5k -arrivals constant -batch 16"},
	{client: "-linearizable -workload YCSB-A"},
	{client: "-scramble -router balanced", args: "2 2"},
	{client: "-linearizable -workload YCSB-F", args: "2 2"},
	{client: "-workload YCSB-D", args: "2 1"},
	{client: "-workload YCSB-E -batch 16", args: "--server-args -engine=btree 2 1"},
	{client: "-distribution scrambled -value-size 24-1024", args: "--server-args -engine=slab"},
	{client: "-value-size etc -key-size etc -workload YCSB-A"},
	{client: "-workload YCSB-A -retry" + cached},
	{client: deleting + cached, args: "--server-args -engine=slab 2 2"},
	{client: "-cache 2MiB -inflight 4 -scramble"},
	{client: "-workload mix -reads 0.5 -inserts 0.1 -deletes 0.1 -linearizable"},
	{client: "-ops 300k -batch 16" + untilDone, args: "1 2"},
	{client: "-ops 3k -batch 1" + untilDone},
	{client: "-ops 100k -inflight 4 -batch 64" + untilDone, args: "2 2"},
	{client: "-ops 40k -rate 40k" + untilDone},
	{client: replaying, args: "1 2"},
}

// TestHonest accuses none of 500 runs of 3 s of the programs without a mutant, half of
// them beside two busy loops.
func TestHonest(t *testing.T) {
	if os.Getenv("KVLAB_LONG") != "1" {
		t.Skip("KVLAB_LONG=1 runs it: an hour")
	}
	root := mutate(t, nil)
	for run := range 500 {
		busy := run/len(honest)%2 == 1
		t.Run(fmt.Sprintf("run %d, busy %v, %+v", run, busy, honest[run%len(honest)]), func(t *testing.T) {
			if busy {
				defer keepBusy()()
			}
			if verdict := verdictOf(t, root, honest[run%len(honest)], run+1); !verdict.Valid {
				t.Errorf("%s", verdict)
			}
		})
	}
}

// typed are command lines as users type them, after ./run-cluster.sh.
var typed = []struct {
	line string
	ci   string // its short form in CI; "" for none
}{
	// First tries. The windows of all but the first open within opensWithin.
	{"--quick", "--quick --records 50000"},
	{"--target redis", "--target redis --secs 1 --warmup 1 --records 50000"},
	{"--target memcached", "--target memcached --secs 1 --warmup 1 --records 50000"},
	{`--ab "--engine slab" "" --secs 3`, `--ab "--engine slab" "" --secs 1 --warmup 1 --records 50000 --trials 2`},

	{"--target redis --secs 3", ""},
	{"--target redis --secs 5", ""},
	{"--target memcached --secs 3", ""},
	{"--target memcached --secs 5", ""},
	{"--engine btree --workload YCSB-E --quick", ""},
	{"--value-size 1024 --records 100000 --secs 5", ""},
	{"--value-size 2048 --records 100000 --secs 5", ""},
	{"--value-size 4096 --records 100000 --secs 5", ""},
	{"--workload mix --inserts 0.3 --secs 5", ""},
	{"--codec protobuf --workload YCSB-A --secs 5", ""},
	{"--engine pebble --secs 5", ""},
	{"--engine badger --sync os --secs 5", ""},
	{"--secs 1", ""},
}

// Bounds of the long form. Other packages' tests run beside the short one.
const (
	quickWithin = time.Minute // --quick ends
	opensWithin = 40 * time.Second
)

// rates returns a line with a random rate that no machine is too slow for.
func rates(random *rand.Rand) string {
	of := func(words ...string) string { return words[random.IntN(len(words))] }
	return fmt.Sprintf("--rate %d --secs %d --warmup %d --records %s --workload %s --engine %s --batch %s --workers %s --arrivals %s --value-size %s --client-args \"-seed %d\" %s",
		200+random.IntN(8000), 1+random.IntN(4), 1+random.IntN(3), of("10000", "100000"), of("YCSB-A", "YCSB-B", "YCSB-C", "YCSB-D", "YCSB-F"),
		of("syncmap", "slab", "btree"), of("1", "8", "64", "512"), of("1", "4", "64"), of("poisson", "constant"), of("32", "128", "1024"), 1+random.IntN(1000), of("1 1", "2 1", "1 2"))
}

// TestTyped runs each line, and 60 random rates, beside two busy loops with KVLAB_LONG=1; with
// KVLAB_CI=1 the short forms and one rate. All are VALID.
func TestTyped(t *testing.T) {
	long := os.Getenv("KVLAB_LONG") == "1"
	if !long && os.Getenv("KVLAB_CI") != "1" {
		t.Skip("KVLAB_CI=1 runs it")
	}
	root := mutate(t, nil)
	for _, part := range []string{"cmd", "extra", "internal", "kvs", "metrics", "plots", "workload", "go.mod", "go.sum"} { // of which extra/rivals are built
		checkout, err := filepath.Abs(filepath.Join("../..", part))
		if err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(checkout, filepath.Join(root, part)); err != nil {
			t.Fatal(err)
		}
	}
	defer keepBusy()()
	for _, one := range typed {
		line := one.ci
		if long {
			line = one.line
		}
		if line != "" {
			t.Run(line, func(t *testing.T) { runTyped(t, root, line, long) })
		}
	}
	seed := uint64(time.Now().UnixNano())
	random, n := rand.New(rand.NewPCG(seed, 0)), 1
	if long {
		n = 60
	}
	for range n {
		line := rates(random)
		t.Run(fmt.Sprintf("seed %d: %s", seed, line), func(t *testing.T) { runTyped(t, root, line, long) })
	}
}

// runTyped runs a line, whose verdict must be VALID without any advice, and, if timed, in time.
func runTyped(t *testing.T, root, line string, timed bool) {
	t.Helper()
	out, begun := t.TempDir(), time.Now()
	said, err := exec.Command("bash", "-c", filepath.Join(root, "bin", "kvscluster")+" --no-ceiling --out "+out+" "+line).CombinedOutput()
	took := time.Since(begun)
	if err != nil || !strings.HasSuffix(string(said), "verdict VALID\n") || strings.Contains(string(said), "; want ") {
		t.Fatalf("%v after %.0f s\n%s", err, took.Seconds(), said)
	}
	if !timed {
		return
	}
	if strings.Contains(line, "--quick") && took > quickWithin {
		t.Errorf("it took %v", took)
	}
	var run metrics.Run
	runs, _ := filepath.Glob(filepath.Join(out, "latest", "run.json"))
	for _, file := range runs { // one of a single trial
		if err := metrics.ReadJSON(file, &run); err != nil {
			t.Fatal(err)
		}
		if opened := run.WindowStart.Sub(run.Started); opened > opensWithin {
			t.Errorf("the window opened after %v", opened)
		}
	}
}

// keepBusy computes in two goroutines until stop is called.
func keepBusy() (stop func()) {
	done := make(chan struct{})
	for range 2 {
		go func() {
			for random := rand.New(rand.NewPCG(1, 2)); ; {
				select {
				case <-done:
					return
				default:
					for range 1 << 16 {
						random.Uint64()
					}
				}
			}
		}()
	}
	return func() { close(done) }
}
