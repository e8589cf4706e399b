package ycsb

import (
	"flag"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"kvlab/workload"
)

// core has what differs from the defaults in the six files of YCSB's folder workloads.
var core = map[string]string{
	"a": "readproportion=0.5 updateproportion=0.5 requestdistribution=zipfian",
	"b": "readproportion=0.95 updateproportion=0.05 requestdistribution=zipfian",
	"c": "readproportion=1 updateproportion=0 requestdistribution=zipfian",
	"d": "readproportion=0.95 updateproportion=0 insertproportion=0.05 requestdistribution=latest",
	"e": "readproportion=0 updateproportion=0 scanproportion=0.95 insertproportion=0.05 requestdistribution=zipfian maxscanlength=100 scanlengthdistribution=uniform",
	"f": "readproportion=0.5 updateproportion=0 readmodifywriteproportion=0.5 requestdistribution=zipfian",
}

// write writes a property file.
func write(t *testing.T, lines ...string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "workload")
	if err := os.WriteFile(path, []byte(strings.Join(lines, "\n")), 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

// client is what a client's flags set.
type client struct {
	workload.Config
	value, batch, workers, secs, rate, arrivals, prefix string
}

// parsed returns what the arguments of a file set.
func parsed(t *testing.T, path string) client {
	t.Helper()
	var p Properties
	if err := p.ReadFile(path); err != nil {
		t.Fatal(err)
	}
	args, _, err := p.Args(func(string) bool { return false })
	if err != nil {
		t.Fatal(err)
	}
	c := client{Config: workload.DefaultConfig()}
	fs := flag.NewFlagSet("", flag.ContinueOnError)
	fs.SetOutput(io.Discard)
	c.Define(fs)
	for name, text := range map[string]*string{"value-size": &c.value, "batch": &c.batch, "workers": &c.workers, "secs": &c.secs, "rate": &c.rate, "arrivals": &c.arrivals, "key-prefix": &c.prefix} {
		fs.StringVar(text, name, "", "")
	}
	if err := fs.Parse(args); err != nil {
		t.Fatal(args, err)
	}
	return c
}

// YCSB's six workloads have the shares of kvlab's, YCSB's own law and records of ten fields.
func TestCore(t *testing.T) {
	for letter, text := range core {
		lines := append(strings.Fields(text), "# a comment", "", "recordcount=1000", "operationcount = 1000", "workload: site.ycsb.workloads.CoreWorkload", "readallfields true")
		c := parsed(t, write(t, lines...))
		law := workload.Scrambled
		if letter == "d" {
			law = workload.Latest
		}
		if c.Workload != "YCSB-"+strings.ToUpper(letter) || c.Distribution != law || c.Records != 1000 || c.Ops != 1000 || c.value != "1000" || c.batch != "" {
			t.Errorf("workload%s: %+v", letter, c)
		}
		if c.Workload == workload.YCSBE && c.ScanLength != 100 {
			t.Errorf("workloade scans %d", c.ScanLength)
		}
	}
}

// operationcount ends the run, beside maxexecutiontime if that comes first; a typed -secs takes its
// place.
func TestLimits(t *testing.T) {
	var p Properties
	if err := p.ReadFile(write(t, "operationcount=5000", "maxexecutiontime=9")); err != nil {
		t.Fatal(err)
	}
	for flag, want := range map[string]string{"": "-secs=9 -ops=5000", "secs": "", "ops": "-secs=9"} {
		args, notes, err := p.Args(func(name string) bool {
			return name == flag || name == "workload" || name == "distribution" || name == "value-size"
		})
		if got := strings.Join(args, " "); err != nil || got != want || strings.Contains(fmt.Sprint(notes), "operationcount") != (flag != "ops") {
			t.Errorf("-%s: %q, notes %q, %v; want %q", flag, got, notes, err, want)
		}
	}
}

// Random files have the shares, records and sizes of YCSB's formulas.
func TestRandomFiles(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	names := []string{"readproportion", "updateproportion", "insertproportion", "scanproportion", "readmodifywriteproportion"}
	for range 200 {
		var weights [5]float64
		sum := 0.0
		var lines []string
		for i, name := range names {
			weights[i], _ = strconv.ParseFloat([]string{"0.95", "0.05", "0", "0", "0"}[i], 64)
			if random.IntN(3) > 0 {
				weights[i] = math.Round(random.Float64()*100) / 100
				lines = append(lines, fmt.Sprintf("%s=%g", name, weights[i]))
			}
			sum += weights[i]
		}
		if sum == 0 {
			continue
		}
		records, fields, length, threads := 1+random.IntN(1e6), 1+random.IntN(20), 1+random.IntN(200), 1+random.IntN(256)
		lines = append(lines, fmt.Sprintf("recordcount=%d", records), fmt.Sprintf("fieldcount=%d", fields), fmt.Sprintf("fieldlength=%d", length),
			fmt.Sprintf("threadcount=%d", threads), "maxexecutiontime=7", "target=123", "keyprefix=k", "measurement.x=1", "redis.host=h")
		random.Shuffle(len(lines), func(i, j int) { lines[i], lines[j] = lines[j], lines[i] })
		c := parsed(t, write(t, lines...))
		for i, kind := range kinds {
			if got := c.Share(kind); math.Abs(got-weights[i]/sum) > 1e-9 {
				t.Errorf("seed %d, %s: %s is %g, want %g", seed, lines, names[i], got, weights[i]/sum)
			}
		}
		want := client{c.Config, strconv.Itoa(max(fields*length, 24)), "1", strconv.Itoa(threads), "7", "123", "constant", "k"}
		if c != want || c.Records != uint64(records) || c.Distribution != workload.Uniform {
			t.Errorf("seed %d, %s: %+v", seed, lines, c)
		}
	}
}

// A mistake is named with its place, and what kvlab does not do with its reason.
func TestRefused(t *testing.T) {
	for _, test := range []struct{ line, want string }{
		{"readpropotion=1", "workload:2: readpropotion: no property of YCSB's core workload; did you mean readproportion?"},
		{"readproportion", `workload:2: "readproportion": want name=value`},
		{"readproportion=2", "workload:2: readproportion=2: want a share from 0 to 1"},
		{"no equals", `workload:2: "no equals": want name=value`},
		{"recordcount=0", "workload:2: recordcount=0: want 1 or more"},
		{"recordcount=many", "workload:2: recordcount=many: want a whole number"},
		{"requestdistribution=exponential", "no exponential law"},
		{"requestdistribution=zipf", "want uniform, zipfian, latest, hotspot or sequential"},
		{"readallfields=false", "kvlab reads whole records"},
		{"fieldlengthdistribution=zipfian", "kvlab has constant, and uniform"},
		{"fieldlength=0", "fieldcount x fieldlength"},
		{"workload=my.Workload", "CoreWorkload alone"},
		{"insertorder=random", "want hashed or ordered"},
	} {
		var p Properties
		err := p.ReadFile(write(t, "# one", test.line))
		if err == nil {
			_, _, err = p.Args(func(string) bool { return false })
		}
		if err == nil || !strings.Contains(err.Error(), test.want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: %v, want %q", test.line, err, test.want)
		}
	}
}

// What is typed wins, in any order, and a workload that is typed replaces the proportions.
func TestTypedWins(t *testing.T) {
	var p Properties
	for _, set := range []func() error{
		func() error { return p.Set("recordcount=5") },
		func() error {
			return p.ReadFile(write(t, "recordcount=7", `hotspotdatafraction=\`, "  0.1", "requestdistribution=hotspot", "insertorder=ordered", "fieldcount=1", "fieldlengthdistribution=uniform", "minfieldlength=30"))
		},
		func() error { return p.Set("hotspotopnfraction=0.9") },
	} {
		if err := set(); err != nil {
			t.Fatal(err)
		}
	}
	args, notes, err := p.Args(func(flag string) bool { return flag == "workload" })
	if want := "insertorder: keys are in the order of their ids"; len(notes) != 2 || !strings.HasPrefix(notes[1], want) {
		t.Errorf("notes %q, want %q in the end", notes, want)
	}
	if got, want := strings.Join(args, " "), "-records=5 -distribution=hotspot -hot-keys=0.1 -hot-ops=0.9 -value-size=30-100"; err != nil || got != want {
		t.Errorf("%s, %v; want %s", got, err, want)
	}
}
