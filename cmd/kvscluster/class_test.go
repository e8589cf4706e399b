package main

import (
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"kvlab/metrics"
)

// submission is a store of the real evening: kvlab with a change of its server.
type submission struct {
	name    string
	service string // added to each call; the store's other time is a tenth of it
	body    string // before each call is applied
}

// The slowdowns are of 0, 2, 5, 10, 20 and 40 %. Two more stores are equal.
var submissions = []submission{
	{name: "base", service: "2.00ms"},
	{name: "slow-0", service: "2.00ms"},
	{name: "slow-2", service: "2.04ms"},
	{name: "slow-5", service: "2.1ms"},
	{name: "slow-10", service: "2.2ms"},
	{name: "slow-20", service: "2.4ms"},
	{name: "equal-a", service: "2.6ms"},
	{name: "equal-b", service: "2.6ms"},
	{name: "slow-40", service: "2.8ms"},
	{name: "drops", service: "2.00ms", body: `ops = append([]kvs.Op(nil), ops...)
	for i := range ops {
		if ops[i].Kind == kvs.Put && p.calls.Add(1)%100 == 0 {
			ops[i].Key = append([]byte("lost-"), ops[i].Key...)
		}
	}`},
	{name: "hangs", service: "2.00ms", body: `if p.calls.Add(1) > 500 {
		select {}
	}`},
}

const plantedEngine = `package server

import (
	"sync/atomic"

	"kvlab/kvs"
)

type planted struct {
	kvs.Engine
	calls atomic.Uint64
}

func (p *planted) Apply(ops []kvs.Op, reply *kvs.Reply) {
	%s
	p.Engine.Apply(ops, reply)
}
`

// submit makes a checkout whose branches are the submissions, with the programs of its
// first commit.
func submit(t *testing.T) (root string) {
	t.Helper()
	root = filepath.Join(t.TempDir(), "checkout")
	run := func(name string, args ...string) {
		t.Helper()
		cmd := exec.Command(name, args...)
		if len(args) > 0 && args[0] != "clone" {
			cmd.Dir = root
		}
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%s %q: %v\n%s", name, args, err, out)
		}
	}
	run("git", "clone", "--quiet", "../..", root)
	run("go", "build", "-pgo=off", "-o", "bin/", "./cmd/kvscluster", "./cmd/kvsserver", "./cmd/kvsclient")
	server := filepath.Join(root, "kvs", "server", "server.go")
	honest, err := os.ReadFile(server)
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range submissions {
		text := strings.Replace(string(honest), "ParseFault(config.Inject)", fmt.Sprintf("ParseFault(%q)", "service="+s.service), 1)
		text = strings.Replace(text, "service.New(store)", "service.New(&planted{Engine: store})", 1)
		for path, text := range map[string]string{server: text, filepath.Join(root, "kvs", "server", "planted.go"): fmt.Sprintf(plantedEngine, s.body)} {
			if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		run("git", "checkout", "--quiet", "-b", s.name)
		run("git", "add", "kvs/server")
		run("git", "-c", "user.name=t", "-c", "user.email=t@t", "commit", "--quiet", "--allow-empty", "-m", s.name)
	}
	return root
}

const eveningClass = `title = "Planted"
budget = "16m"
[work]
workload = "YCSB-B"
records = 5000
value_size = 100
least_secs = 2
args = "1 1 --batch 64 --workers 4 --warmup 0.5"
allow = ["ONE MACHINE", "NON-STATIONARY"]
[gates]
memory = "1GB"
[score]
steps = ["0.5x 60 %", "1x 100 %"]
[reference]
name = "base"
revision = "base"
`

// evening writes the class's file with some of the submissions.
func evening(t *testing.T, entries []submission) (file string) {
	t.Helper()
	text := eveningClass
	for _, s := range entries {
		text += fmt.Sprintf("[[entry]]\nname = %q\nrevision = %[1]q\n", s.name)
	}
	file = filepath.Join(t.TempDir(), "class.toml")
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	return file
}

// A real evening of stores of known slowdowns ranks them rightly or leaves them tied, does
// not tell equal ones apart, and finds the one that loses writes and the one that hangs.
func TestRealEvening(t *testing.T) {
	if os.Getenv("KVLAB_LONG") != "1" {
		t.Skip("KVLAB_LONG=1 runs it: 20 minutes")
	}
	root, out := submit(t), t.TempDir()
	order := make(map[string]string)
	for _, s := range submissions {
		order[s.name] = s.service
	}
	file := evening(t, submissions[1:])
	said, err := exec.Command(filepath.Join(root, "bin", "kvscluster"), "grade", file, "--local", "--out", out, "--seed", "17").CombinedOutput()
	t.Logf("%s", said)
	if err != nil {
		t.Fatal(err)
	}
	checkGone(t, root)
	var s metrics.Standings
	read(t, filepath.Join(out, "latest", metrics.StandingsFile), &s)
	for _, e := range s.Entries {
		switch e.Entry {
		case "drops", "hangs":
			if e.Verdict.Valid || e.Reason == "" || len(e.Failed) != 2 {
				t.Errorf("%+v", e)
			}
			continue
		case "slow-40":
			if e.RatioHigh < 1.1*e.RatioLow && !slices.Contains(e.Faster, "slow-0") { // the machine was quiet
				t.Errorf("40 %% are not seen: %+v", e)
			}
		}
		if !e.Verdict.Valid {
			t.Errorf("%+v", e)
		}
		for _, faster := range e.Faster {
			if order[faster] >= order[e.Entry] { // the texts order as the times
				t.Errorf("%s, with %s, is faster than %s, with %s", faster, order[faster], e.Entry, order[e.Entry])
			}
		}
	}
	t.Logf("%d rounds, decided after %d: %s", s.Rounds, s.Deciding, s.Ended)
}

// The teacher's machine loses the launcher 20 times at random moments of a real evening.
// Nothing is measured twice, no process is left, and the ranks are those of an evening in
// one piece.
func TestKilledEvening(t *testing.T) {
	if os.Getenv("KVLAB_LONG") != "1" {
		t.Skip("KVLAB_LONG=1 runs it: 10 minutes")
	}
	root := submit(t)
	file := evening(t, submissions[5:9]) // of different slowdowns, and two equal ones
	launch := func(args ...string) *exec.Cmd { return exec.Command(filepath.Join(root, "bin", "kvscluster"), args...) }
	whole, pieces := t.TempDir(), t.TempDir()
	if said, err := launch("grade", file, "--local", "--out", whole, "--seed", "18").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, said)
	}
	latest := filepath.Join(pieces, "latest")
	random := rand.New(rand.NewPCG(18, 0))
	cmd, kills := launch("grade", file, "--local", "--out", pieces, "--seed", "18"), 0
	for ; kills < 20; kills++ {
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		ended := make(chan error, 1)
		go func() { ended <- cmd.Wait() }()
		for _, err := os.Stat(filepath.Join(latest, metrics.SweepFile)); err != nil; _, err = os.Stat(filepath.Join(latest, metrics.SweepFile)) {
			time.Sleep(10 * time.Millisecond) // until there is an evening to resume
		}
		select {
		case err := <-ended:
			t.Fatalf("the evening is over after %d kills: %v", kills, err)
		case <-time.After(time.Duration(random.Int64N(int64(12 * time.Second)))):
		}
		cmd.Process.Kill()
		<-ended
		checkGone(t, root)
		cmd = launch("--resume", latest)
	}
	if said, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, said)
	}
	_, trials, err := metrics.ReadSweep(latest)
	if err != nil {
		t.Fatal(err)
	}
	measured := make(map[string]int)
	for _, trial := range trials {
		if !trial.Verdict.Valid {
			continue // it was disturbed, and may be made again
		}
		place := fmt.Sprint(trial.Round, trial.Point)
		if before := measured[place]; before > 0 {
			t.Errorf("%s was measured by trial %d and %d", place, before, trial.Number)
		}
		measured[place] = trial.Number
	}
	ranks := func(out string) string {
		var s metrics.Standings
		read(t, filepath.Join(out, "latest", metrics.StandingsFile), &s)
		var lines []string
		for _, e := range s.Entries {
			slices.Sort(e.Faster)
			lines = append(lines, fmt.Sprintf("%s %d, slower than %q\n", e.Entry, e.Rank, e.Faster))
		}
		slices.Sort(lines) // equal ones stand in the order of their measured ratios
		return strings.Join(lines, "")
	}
	if got, want := ranks(pieces), ranks(whole); got != want {
		t.Errorf("ranks\n%s, want\n%s", got, want)
	}
	t.Logf("%d kills, %d trials:\n%s", kills, len(trials), ranks(pieces))
}
