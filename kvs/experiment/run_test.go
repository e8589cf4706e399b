package experiment

import (
	"context"
	"encoding/json"
	"errors"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"kvlab/metrics"
)

var errKilled = errors.New("killed")

// machine makes trials whose outcome depends on their number alone, and dies
// when its time has come.
type machine struct {
	kept   []byte // what the disk holds: trials.json
	left   int    // steps until it is killed; negative for never
	spread float64
	fails  func(number int) bool
	breaks func(number, attempt int) bool // for an outside reason

	resumed bool // its trials are read by --resume
}

// step returns a moment at which the launcher may be killed.
func (m *machine) step() error {
	if m.left == 0 {
		return errKilled
	}
	m.left--
	return nil
}

func (m *machine) trial(p PlannedTrial) (metrics.Trial, error) {
	if err := m.step(); err != nil {
		return metrics.Trial{}, err
	}
	random := rand.New(rand.NewPCG(uint64(p.Number), 0))
	rate := 1e6 * (1 + m.spread*(random.Float64()-0.5))
	trial := metrics.Trial{PlannedTrial: p.PlannedTrial, Folder: p.Folder(), Result: metrics.Result{OpsPerS: rate, Verdict: metrics.Verdict{Valid: true}}}
	if m.fails != nil && m.fails(p.Number) {
		trial.Verdict = metrics.Verdict{Reason: "died", Node: "node1"}
	}
	if m.breaks != nil && m.breaks(p.Number, max(1, p.Attempt)) {
		trial.Verdict, trial.Outside = metrics.Verdict{Reason: "cannot be reached", Node: "node2"}, true
	}
	return trial, m.step()
}

// group makes the trials that are asked for, all or none, and keeps them.
func (m *machine) group(done []metrics.Trial, group Group) ([]metrics.Trial, error) {
	made := done
	for _, p := range group {
		trial, err := m.trial(p)
		if err != nil {
			return done, err
		}
		made = metrics.Insert(made, trial)
	}
	return made, m.keep(made)
}

func (m *machine) keep(trials []metrics.Trial) error {
	if err := m.step(); err != nil {
		return err
	}
	var err error
	if m.kept, err = json.Marshal(trials); err != nil {
		return err
	}
	return m.step()
}

// run goes on from what the disk holds.
func (m *machine) run(t *testing.T, plan metrics.Sweep) ([]metrics.Trial, error) {
	t.Helper()
	var done []metrics.Trial
	if m.kept != nil {
		if err := json.Unmarshal(m.kept, &done); err != nil {
			t.Fatal(err)
		}
		for i := range done {
			done[i].Resumed = m.resumed
		}
	}
	return Run(context.Background(), Sweep{Plan: plan}, done, m.group)
}

func planOf(knobs []metrics.Knob, trials int, until float64) metrics.Sweep {
	return metrics.Sweep{Seed: 5, Knobs: knobs, Trials: trials, Until: until, Order: Order(knobs, trials, 5)}
}

// together returns the plan with the trials of a pair at the same time.
func together(plan metrics.Sweep) metrics.Sweep {
	plan.Together = true
	return plan
}

var twoByTwo = []metrics.Knob{{Name: "a", Values: []string{"1", "2"}}, {Name: "b", Values: []string{"x", "y"}}}

// Killed at any moment, once or twice, a sweep makes the same trials as one
// that was left alone: none is lost, made twice or made in another order.
func TestResumeAfterKill(t *testing.T) {
	third := func(number int) bool { return number%3 == 0 }
	broken := func(number, attempt int) bool { return number%2 == 0 && attempt <= number%4 }
	for _, test := range []struct {
		name   string
		plan   metrics.Sweep
		fails  func(int) bool
		breaks func(number, attempt int) bool
	}{
		{"sweep", planOf(twoByTwo, 2, 0), third, nil},
		{"trials", planOf(nil, 4, 0), nil, nil},
		{"until", planOf(nil, 6, 0.02), third, nil},
		{"together", together(planOf(twoByTwo[:1], 3, 0)), third, nil},
		{"broken", planOf(nil, 4, 0), nil, broken},
		{"broken together", together(planOf(twoByTwo[:1], 2, 0)), nil, broken},
	} {
		t.Run(test.name, func(t *testing.T) {
			alone := &machine{left: -1, spread: 0.1, fails: test.fails, breaks: test.breaks}
			want, err := alone.run(t, test.plan)
			if err != nil {
				t.Fatal(err)
			}
			attempts := 0
			for _, trial := range want {
				attempts += 1 + len(trial.Earlier)
			}
			steps := 4 * attempts // of each trial two, and two to keep it
			if test.plan.Together {
				steps = 3 * attempts // a pair is kept at once
			}
			for first := range steps {
				m := &machine{left: first, spread: 0.1, fails: test.fails, breaks: test.breaks}
				if _, err := m.run(t, test.plan); !errors.Is(err, errKilled) {
					t.Fatalf("not killed at step %d: %v", first, err)
				}
				m.left = first % 7
				if _, err := m.run(t, test.plan); err != nil && !errors.Is(err, errKilled) {
					t.Fatal(err)
				}
				m.left = -1
				got, err := m.run(t, test.plan)
				if err != nil || !reflect.DeepEqual(got, want) {
					t.Fatalf("killed at step %d: %v, trials %v; want %v", first, err, got, want)
				}
			}
		})
	}
}

// A slow trial is in the median, and a wrong one leaves none. One that broke for an outside
// reason is made again, twice at most and once more when the experiment is resumed. It is
// never made again because of what it measured.
func TestNoSelection(t *testing.T) {
	plan := planOf(nil, 6, 0)
	made := func(m *machine) (point metrics.Point, attempts []int) {
		done, err := m.run(t, plan)
		if err != nil || len(done) != 6 {
			t.Fatalf("%d trials, %v", len(done), err)
		}
		for _, trial := range done {
			attempts = append(attempts, 1+len(trial.Earlier))
		}
		return metrics.Summarize(plan, done)[0], attempts
	}
	once := []int{1, 1, 1, 1, 1, 1}
	slow := &machine{left: -1, spread: 1.9} // the slowest has a fraction of the fastest's rate
	if p, attempts := made(slow); !p.OK() || len(p.Rates()) != 6 || !slices.Equal(attempts, once) {
		t.Errorf("slow: OK %v, rates %v, attempts %v", p.OK(), p.Rates(), attempts)
	}
	wrong := &machine{left: -1, fails: func(number int) bool { return number == 4 }}
	if p, attempts := made(wrong); p.OK() || !slices.Equal(attempts, once) {
		t.Errorf("wrong: OK %v, attempts %v", p.OK(), attempts)
	}
	var done []metrics.Trial
	if err := json.Unmarshal(wrong.kept, &done); err != nil {
		t.Fatal(err)
	}
	if end := (Sweep{Plan: plan}).Conclude(done, nil); end.Verdict.Valid || strings.Contains(end.Full, "median") {
		t.Errorf("wrong: %s\n%s", end.Verdict, end.Full)
	}
	twice := &machine{left: -1, breaks: func(number, attempt int) bool { return number == 2 && attempt < 3 }}
	if p, attempts := made(twice); !p.OK() || !slices.Equal(attempts, []int{1, 3, 1, 1, 1, 1}) {
		t.Errorf("broken twice: OK %v, attempts %v", p.OK(), attempts)
	}
	always := &machine{left: -1, breaks: func(number, attempt int) bool { return number == 2 && attempt < 4 }}
	if p, attempts := made(always); p.OK() || !slices.Equal(attempts, []int{1, 3, 1, 1, 1, 1}) {
		t.Errorf("broken three times: OK %v, attempts %v", p.OK(), attempts)
	}
	if p, attempts := made(always); p.OK() || !slices.Equal(attempts, []int{1, 3, 1, 1, 1, 1}) {
		t.Errorf("broken three times, asked again: OK %v, attempts %v", p.OK(), attempts)
	}
	always.resumed = true
	if p, attempts := made(always); !p.OK() || !slices.Equal(attempts, []int{1, 4, 1, 1, 1, 1}) {
		t.Errorf("broken three times, resumed: OK %v, attempts %v", p.OK(), attempts)
	}
}

// rounds makes trials whose rounds have a length in seconds by number, and whose windows fit
// them as the launcher's do.
func rounds(plan metrics.Sweep, asked float64, length func(number int) float64) (Next, func([]metrics.Trial, Group) ([]metrics.Trial, error)) {
	return Sweep{Plan: plan}, func(done []metrics.Trial, group Group) ([]metrics.Trial, error) {
		made, used := done, max(asked, metrics.SharedWindow(done, asked))
		for _, p := range group { // a pair agrees on the longer
			if round := length(p.Number); metrics.LeastRounds*round > used {
				used = metrics.WindowRoom * metrics.WindowRounds * round
			}
		}
		for _, p := range group {
			round := length(p.Number)
			needs := metrics.WindowRounds * round
			run := &metrics.Run{Window: &metrics.WindowLength{AskedS: asked, RoundS: round, NeedsS: needs, UsedS: used}}
			made = metrics.Insert(made, metrics.Trial{PlannedTrial: p.PlannedTrial, Result: metrics.Result{OpsPerS: 1 / round, Verdict: metrics.Verdict{Valid: true}}, Folder: p.Folder(), Run: run})
		}
		return made, nil
	}
}

// All trials have one window. Where -secs is enough, no trial is made again; where a later
// trial needs more, the earlier ones are. Rounds that grow without end come to an end.
func TestOneWindow(t *testing.T) {
	for _, test := range []struct {
		name   string
		plan   metrics.Sweep
		length func(number int) float64
		made   []int // attempts at each trial
		apart  bool
	}{
		{"enough", planOf(nil, 4, 0), func(int) float64 { return 0.1 }, []int{1, 1, 1, 1}, false},
		{"all need more", planOf(nil, 4, 0), func(int) float64 { return 1 }, []int{1, 1, 1, 1}, false},
		{"a third more", planOf(nil, 4, 0), func(number int) float64 { return 1 + 0.1*float64(number) }, []int{1, 1, 1, 1}, false},
		{"a slow one", planOf(nil, 4, 0), func(number int) float64 { return map[bool]float64{true: 3, false: 0.1}[number == 3] }, []int{2, 2, 1, 1}, false},
		{"a pair", together(planOf(twoByTwo[:1], 2, 0)), func(number int) float64 { return map[bool]float64{true: 3, false: 0.1}[number == 3] }, []int{2, 2, 1, 1}, false},
		{"points", planOf(twoByTwo[:1], 2, 0), func(number int) float64 { return float64(number) / 2 }, []int{3, 2, 2, 1}, false},
		{"without end", planOf(nil, 6, 0), func(number int) float64 { return math.Exp2(float64(number)) }, []int{4, 4, 4, 3, 2, 1}, true},
	} {
		next, make := rounds(test.plan, 2, test.length)
		done, err := Run(context.Background(), next, nil, make)
		if err != nil {
			t.Fatal(err)
		}
		var attempts []int
		lengths := map[float64]bool{}
		for _, trial := range done {
			attempts = append(attempts, 1+len(trial.Earlier))
			lengths[trial.Run.Window.UsedS] = true
		}
		if !slices.Equal(attempts, test.made) || (len(lengths) > 1) != test.apart {
			t.Errorf("%s: attempts %v, want %v; lengths %v", test.name, attempts, test.made, lengths)
		}
	}
}

// All trials with one default of -batch have the smallest to which it was lowered, and a typed
// one stays.
func TestOneBatch(t *testing.T) {
	const asked, typed = 8192, 3
	made := func(done []metrics.Trial, group Group) ([]metrics.Trial, error) {
		for _, p := range group {
			w := &metrics.WindowLength{DefaultBatch: asked, Batch: asked}
			if shared := metrics.SharedBatch(done, asked); shared > 0 {
				w.Batch = shared
			}
			switch p.Number {
			case 2:
				w.Batch = min(w.Batch, 1024)
			case 4:
				w.Batch = min(w.Batch, 256)
			case typed:
				w = &metrics.WindowLength{Batch: asked}
			}
			done = metrics.Insert(done, metrics.Trial{PlannedTrial: p.PlannedTrial, Result: metrics.Result{OpsPerS: 1, Verdict: metrics.Verdict{Valid: true}}, Run: &metrics.Run{Window: w}})
		}
		return done, nil
	}
	done, err := Run(context.Background(), Sweep{Plan: planOf(nil, 5, 0)}, nil, made)
	if err != nil {
		t.Fatal(err)
	}
	for i, attempts := range []int{3, 2, 1, 1, 1} {
		want := uint64(256)
		if done[i].Number == typed {
			want = asked
		}
		if got := done[i]; got.Run.Window.Batch != want || 1+len(got.Earlier) != attempts {
			t.Errorf("trial %d: batch %d in attempt %d, want %d in %d", got.Number, got.Run.Window.Batch, 1+len(got.Earlier), want, attempts)
		}
	}
}

// A trial whose rounds became longer than its window is no slow trial that is left out: all
// get a longer window.
func TestRoundsThatOutgrowTheWindow(t *testing.T) {
	grown := metrics.Trial{PlannedTrial: metrics.PlannedTrial{Number: 1}, Result: metrics.Result{Verdict: metrics.Verdict{Reason: "TOO SHORT"}}, Run: &metrics.Run{
		Window: &metrics.WindowLength{AskedS: 5, NeedsS: 4, UsedS: 5},
		Nodes:  []metrics.RunNode{{Role: metrics.Client, Summary: &metrics.Summary{Latency: map[string]metrics.Quantiles{metrics.OpLatency: {Mean: 1e6}}}}},
	}}
	if again := Again([]metrics.Trial{grown}); !again[1] || metrics.SharedWindow([]metrics.Trial{grown}, 5) != 18 {
		t.Errorf("again %v with a window of %v s, want trial 1 with 18 s", again, metrics.SharedWindow([]metrics.Trial{grown}, 5))
	}
}

// The trials of a pair are asked for at once, and no others.
func TestPairsTogether(t *testing.T) {
	m := &machine{left: -1}
	plan := together(planOf(twoByTwo[:1], 3, 0))
	pairs := 0
	make := func(done []metrics.Trial, p Group) ([]metrics.Trial, error) {
		if len(p) != 2 || p[0].Number != 2*pairs+1 || p[0].Point[0] == p[1].Point[0] || p[0].Of != 6 {
			t.Errorf("asked for %v", p)
		}
		pairs++
		return m.group(done, p)
	}
	if done, err := Run(context.Background(), Sweep{Plan: plan}, nil, make); err != nil || len(done) != 6 || pairs != 3 {
		t.Errorf("%d trials in %d pairs, %v", len(done), pairs, err)
	}
}

// A context that has ended starts no further trial.
func TestRunEndsWithContext(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	m := &machine{left: -1}
	make := func(done []metrics.Trial, p Group) ([]metrics.Trial, error) {
		cancel()
		return m.group(done, p)
	}
	if done, err := Run(ctx, Sweep{Plan: planOf(nil, 3, 0)}, nil, make); !errors.Is(err, context.Canceled) || len(done) != 1 {
		t.Errorf("%d trials, %v; want 1 and the context's error", len(done), err)
	}
}

// --until stops at a point as soon as its interval is narrow, and never makes more
// than Most.
func TestUntil(t *testing.T) {
	for _, test := range []struct {
		name   string
		spread float64
		trials int
		until  float64
		check  func(n int) bool
	}{
		{"narrow at once", 0.001, 6, 0.02, func(n int) bool { return n == 6 }},
		{"no interval below 6", 0.001, 2, 0.02, func(n int) bool { return n == 6 }},
		{"hopeless", 3, 6, 0.0001, func(n int) bool { return n == Most }},
		{"in between", 0.3, 6, 0.09, func(n int) bool { return n > 6 && n < Most }},
	} {
		t.Run(test.name, func(t *testing.T) {
			plan := planOf(nil, test.trials, test.until)
			m := &machine{left: -1, spread: test.spread}
			done, err := m.run(t, plan)
			if err != nil || !test.check(len(done)) {
				t.Fatalf("%d trials, %v", len(done), err)
			}
			if met := metrics.Summarize(plan, done)[0].Met(test.until); met != (len(done) < Most) {
				t.Errorf("met is %v after %d trials", met, len(done))
			}
			if len(done) > test.trials && metrics.Summarize(plan, done[:len(done)-1])[0].Met(test.until) {
				t.Error("one trial too many")
			}
		})
	}
}

// Only the point that is not known well gets further trials.
func TestUntilByPoint(t *testing.T) {
	knobs := twoByTwo[:1]
	plan := planOf(knobs, 6, 0.02)
	quiet := &machine{left: -1, spread: 0.001}
	noisy := &machine{left: -1, spread: 3}
	done, err := Run(context.Background(), Sweep{Plan: plan}, nil, func(done []metrics.Trial, p Group) ([]metrics.Trial, error) {
		if p[0].Point[0] == "2" {
			return noisy.group(done, p)
		}
		return quiet.group(done, p)
	})
	if err != nil {
		t.Fatal(err)
	}
	points := metrics.Summarize(plan, done)
	if points[0].Trials() != 6 || points[1].Trials() != Most {
		t.Errorf("%d and %d trials, want 6 and %d", points[0].Trials(), points[1].Trials(), Most)
	}
	for i, trial := range done {
		if trial.Number != i+1 {
			t.Errorf("trial %d has number %d", i+1, trial.Number)
		}
	}
}
