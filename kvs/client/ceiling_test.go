package client

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"kvlab/kvs/loadgen"
	"kvlab/kvs/node"
	"kvlab/kvs/server"
	"kvlab/metrics"
	"kvlab/metrics/stats"
)

// Under the name of one of the two programs the test binary is that program.
func TestMain(m *testing.M) {
	for _, p := range []node.Program{Program, server.Program} {
		if filepath.Base(os.Args[0]) == p.Name {
			os.Exit(p.Main(os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
		}
	}
	os.Exit(m.Run())
}

// programs returns a folder with both programs.
func programs(t *testing.T) string {
	t.Helper()
	own, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(own)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for _, name := range []string{Program.Name, server.Program.Name} {
		if err := os.WriteFile(filepath.Join(dir, name), text, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// localRun is a VALID run with two servers on one machine.
func localRun() metrics.Run {
	run := metrics.Run{
		OpsPerS: 4e6, Verdict: metrics.Verdict{Valid: true},
		Workload: map[string]string{"workload": "YCSB-A", "distribution": "uniform", "reads": "", "records": "2000", "batch": "100", "workers": "2",
			"value-size": "64", "codec": "gob", "transport": "tcp", "secs": "30", "warmup": "5", "verify": "full"},
	}
	for i, role := range []metrics.Role{metrics.Server, metrics.Server, metrics.Client, metrics.Client, metrics.Client} {
		config := &metrics.Config{Host: metrics.Host{Hostname: "one"}, Flags: map[string]string{"engine": "mutex"}}
		summary := &metrics.Summary{InWindow: metrics.Counts{Gets: []uint64{600, 400, 300, 300, 400}[i]}}
		run.Nodes = append(run.Nodes, metrics.RunNode{Name: fmt.Sprintf("node%d", i), Role: role, Config: config, Summary: summary})
	}
	return run
}

func writeRun(t *testing.T, run metrics.Run) string {
	t.Helper()
	text, err := json.Marshal(run)
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "run.json")
	if err := os.WriteFile(file, text, 0o644); err != nil {
		t.Fatal(err)
	}
	return file
}

func TestAgainst(t *testing.T) {
	file := writeRun(t, localRun())
	c, _, err := parse([]string{"-ceiling", "-against", file, "-batch", "100", "-link-gbps", "10"})
	if err != nil {
		t.Fatal(err)
	}
	if c.Workload.Workload != "YCSB-A" || c.Workload.Records != 2000 || c.Batch != 100 || c.Workers != 2 || c.ValueSize != 64 || c.Verify != 1 || c.Engine != "mutex" {
		t.Errorf("the run's work is not taken over: %+v", c)
	}
	if c.Codec != "binary" || c.Window != ceilingWindow || c.WarmUp != ceilingWarmUp || c.Servers() != 2 || c.Ceiling.Measured != 4e6 || c.Ceiling.machines() != 1 {
		t.Errorf("%+v", c)
	}
	w := c.Ceiling.wire(c.Servers(), loadgen.Frames{Request: 100, Reply: 1000, Ops: 10})
	if want := (stats.Wire{Goodput: stats.Goodput(10), Servers: 2, Clients: 3, ToServer: 10, ToClient: 100, Balance: 500.0 / 600}); w != want {
		t.Errorf("wire %+v, want %+v", w, want)
	}
}

// The limit of a run that adapted its batches is that of the batch which its
// clients reached, over as many connections.
func TestAgainstAdaptive(t *testing.T) {
	run := localRun()
	run.Workload["batch"], run.Workload["target-latency"], run.Workload["workers"] = "auto", "1ms", "32"
	for i := range run.Nodes {
		run.Nodes[i].Summary.InWindow.Calls = 12 // the clients: 1000 operations in 36 calls
	}
	c, _, err := parse([]string{"-ceiling", "-against", writeRun(t, run)})
	if err != nil {
		t.Fatal(err)
	}
	if c.AutoBatch || c.TargetLatency != 0 || c.Batch != 28 || c.Lanes() != 2 {
		t.Errorf("auto %t, target %v, batch %d, %d connections; want a batch of 28 over 2", c.AutoBatch, c.TargetLatency, c.Batch, c.Lanes())
	}
}

func TestCeilingErrors(t *testing.T) {
	invalid, empty, foreign, wide := localRun(), metrics.Run{Verdict: metrics.Verdict{Valid: true}}, localRun(), localRun()
	invalid.Verdict = metrics.Verdict{Reason: "killed", Node: "node0"}
	foreign.Workload["future"] = "1"
	wide.Nodes[0].Config.Host.Hostname = "two"
	for _, test := range []struct {
		args []string
		want string // beginning of the error
	}{
		{[]string{"-link-gbps", "10"}, "-link-gbps, -measured and -against go with"},
		{[]string{"-measured", "1"}, "-link-gbps, -measured and -against go with"},
		{[]string{"-against", "x"}, "-link-gbps, -measured and -against go with"},
		{[]string{"-ceiling", "-link-gbps", "0"}, "-link-gbps 0: want"},
		{[]string{"-ceiling", "-link-gbps", "NaN"}, "-link-gbps NaN: want"},
		{[]string{"-ceiling", "-measured", "-1"}, "-measured -1: want"},
		{[]string{"-ceiling", "-measured", "Inf"}, "-measured +Inf: want"},
		{[]string{"-ceiling", "-measured", "1", "-against", "x"}, "-measured and -against both"},
		{[]string{"-ceiling", "-hosts", "a:1", "-against", "x"}, "-against takes the number of servers"},
		{[]string{"-ceiling", "-transport", "inproc"}, "-transport inproc: -ceiling measures"},
		{[]string{"-ceiling", "-codec", "gob"}, "-codec gob: the ceiling is of"},
		{[]string{"-ceiling", "-batch", "0"}, "-batch 0: want"},
		{[]string{"-ceiling", "-engine", "redis"}, `-engine "redis": want`},
		{[]string{"-ceiling", "-against", "/nowhere"}, "-against: open /nowhere"},
		{[]string{"-ceiling", "-against", writeRun(t, invalid)}, "-against: /"},
		{[]string{"-ceiling", "-against", writeRun(t, empty)}, "-against: /"},
		{[]string{"-ceiling", "-against", writeRun(t, foreign)}, "-against /"},
		{[]string{"-ceiling", "-against", writeRun(t, wide)}, "-against /"},
		{[]string{"-ceiling", "-against", writeRun(t, localRun()), "-batch", "8192"}, "-batch 8192: the run of -against had -batch 100"},
		{[]string{"-ceiling", "-against", writeRun(t, localRun()), "-engine", "syncmap"}, "-engine syncmap: the run of -against had -engine mutex"},
	} {
		_, _, err := parse(test.args)
		var usage node.UsageError
		if !errors.As(err, &usage) || !strings.HasPrefix(err.Error(), test.want) {
			t.Errorf("%q: error %v, want a UsageError that begins with %q", test.args, err, test.want)
		}
	}
	for _, test := range []struct {
		run  metrics.Run
		want string
	}{
		{invalid, "the run is INVALID(killed, node0) and has no result"},
		{empty, "not the run.json of a whole run"},
		{foreign, "the run had -future 1"},
		{wide, "say how fast it is, as in -link-gbps 10"},
	} {
		if _, _, err := parse([]string{"-ceiling", "-against", writeRun(t, test.run)}); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("error %v, want one with %q", err, test.want)
		}
	}
}

// The two programs measure, and what they print follows from what they print.
func TestCeiling(t *testing.T) {
	file := writeRun(t, localRun())
	out, err := exec.Command(filepath.Join(programs(t), "kvsclient"), "-ceiling", "-against", file,
		"-link-gbps", "10", "-secs", "0.2", "-warmup", "0").CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	number := func(pattern string) float64 {
		t.Helper()
		m := regexp.MustCompile(`(?m)^` + pattern).FindSubmatch(out)
		if m == nil {
			t.Fatalf("no line %q in\n%s", pattern, out)
		}
		unit := map[string]float64{"": 1, "k": 1e3, "M": 1e6, "G": 1e9}[string(m[2])]
		n, err := strconv.ParseFloat(string(m[1]), 64)
		if err != nil {
			t.Fatal(err)
		}
		return n * unit
	}
	near := func(what string, got, want float64) {
		t.Helper()
		if math.Abs(got/want-1) > 0.02 {
			t.Errorf("%s: %v, want %v in\n%s", what, got, want, out)
		}
	}
	raw, inproc := number(`raw network +([0-9.]+)([kMG]?) ops/s`), number(`in process +([0-9.]+)([kMG]?) ops/s`)
	near("limit", number(`limit +([0-9.]+)([kMG]?) ops/s`), 1/(1/inproc+1/raw))
	near("reached", number(`reached +([0-9.]+)() % of the limit`), 100*4e6/number(`limit +([0-9.]+)([kMG]?) ops/s`))
	// A header for 100 operations; half of them writes, their values behind a length
	// of one byte and answered with one; half of them reads, with two.
	const key = 2 + (10*1+90*2+900*3+1000*4)/2000.0
	request, reply := 0.32+key+0.5*65, 0.32+0.5*66+0.5*1
	near("wire", number(`wire +([0-9.]+)([kMG]?) ops/s`), stats.Goodput(10)*2/max(request, reply)*500/600)
	near("reached of the wire", number(`reached +([0-9.]+)() % of what`), 100*4e6/number(`wire +([0-9.]+)([kMG]?) ops/s`))
}

// A ceiling that is killed leaves no raw server behind.
func TestCeilingKilled(t *testing.T) {
	dir := programs(t)
	c := exec.Command(filepath.Join(dir, "kvsclient"), "-ceiling", "-secs", "100", "-records", "1000", "-workers", "2")
	out, err := c.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	for lines := bufio.NewScanner(out); lines.Scan() && !strings.HasPrefix(lines.Text(), "frames"); {
	}
	until(t, "a raw server runs", func() bool { return running(t, filepath.Join(dir, "kvsserver")) })
	if err := c.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	c.Wait()
	until(t, "the raw server is gone", func() bool { return !running(t, filepath.Join(dir, "kvsserver")) })
}

func until(t *testing.T, what string, done func() bool) {
	t.Helper()
	for deadline := time.Now().Add(10 * time.Second); !done(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("%s: not within 10 s", what)
		}
	}
}

// running says whether there is a process of that program.
func running(t *testing.T, program string) bool {
	t.Helper()
	files, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		t.Fatal(err)
	}
	return slices.ContainsFunc(files, func(file string) bool {
		text, err := os.ReadFile(file)
		return err == nil && bytes.HasPrefix(text, []byte(program+"\x00"))
	})
}

// What each topology's limit is made of.
func TestLimit(t *testing.T) {
	wide := localRun()
	for i, node := range wide.Nodes {
		node.Config.Host.Hostname = fmt.Sprint(i)
	}
	for _, test := range []struct {
		name        string
		ceiling     Ceiling
		inproc, raw float64
		want        float64
		why         string
	}{
		{"one machine", Ceiling{}, 3, 6, 2, "1 / ("},
		{"five machines", Ceiling{run: wide}, 3, 6, 10, "5 machines like this one x 1 / ("},
		{"a slow network to other machines", Ceiling{Network: true}, 3, 6, 6, "the raw network's"},
		{"a fast one", Ceiling{Network: true}, 3, 10, 9, "3 machines like this one x in process"},
	} {
		l := &limit{config: Config{Ceiling: test.ceiling}, inproc: test.inproc, servers: 2}
		l.raw.OpsPerS = test.raw
		if got, why := l.processors(); math.Abs(got-test.want) > 1e-9 || !strings.HasPrefix(why, test.why) {
			t.Errorf("%s: %v, %q; want %v, %q", test.name, got, why, test.want, test.why)
		}
	}
}
