package faults

import (
	"cmp"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"kvlab/metrics"
)

// row is one fault at one moment, and the required outcome.
type row struct {
	name    string
	prepare func(*testing.T, *scene) // before the launcher starts; may be nil
	phase   string                   // of the client when the fault strikes; "" for before the launcher starts, starting for when the victim's program does
	after   time.Duration            // from then on
	victim  metrics.Role             // whose host it is about; "" when it is neither's
	args    string                   // of the client; "" for a run that would go on for long
	lasts   bool                     // the run may come to its own end
	strike  func(*testing.T, *scene) // may be nil
	verdict string                   // a regular expression, in which VICTIM is the host's name; "" when the launcher was killed
	proof   func(*testing.T, *scene) // what else must be when it is VALID; may be nil
}

// starting is the moment at which the victim's program has started as a node.
const starting = "starting"

// scene is a row's hosts and launcher.
type scene struct {
	*pair
	random  *rand.Rand // of this row
	victim  *host      // nil for none
	program string     // of the victim
	out     string     // for --out
	args    []string   // further ones for the launcher
	serving string     // arguments of the server
	run     *launch    // nil before the launcher starts
	undo    []func()   // what mends the hosts, once the launcher has ended
}

// mended registers a repair for the time after the launcher's end.
func (s *scene) mended(undo func()) { s.undo = append(s.undo, undo) }

// mend does the repairs.
func (s *scene) mend() {
	for _, undo := range slices.Backward(s.undo) {
		undo()
	}
	s.undo = nil
}

// small returns a run's size. The load is short, except in the phase load. The rate leaves
// processors to the other pairs.
func small(phase string) string {
	switch phase {
	case "load":
		return "-records 3000000 -workers 4 -batch 64 -warmup 0 -secs 600"
	case "warmup":
		return "-records 2000 -workers 4 -batch 64 -rate 20k -warmup 300 -secs 600"
	}
	return "-records 2000 -workers 4 -batch 64 -rate 20k -warmup 0 -secs 600"
}

// outcome is a row's outcome.
type outcome struct {
	right bool          // all was as it must be
	hung  bool          // the launcher did not end
	valid bool          // so was the verdict
	seen  time.Duration // from the fault until its run was over, or its nodes told their stacks
	ended time.Duration // until the launcher had ended, and no node was left
}

// check strikes and fills in o, also if the test ends early.
func (r row) check(t *testing.T, p *pair, random *rand.Rand, o *outcome) {
	s := r.scene(t, p, random)
	defer s.mend()
	before := p.state()
	if r.prepare != nil {
		r.prepare(t, s)
	}
	fault := time.Now()
	if r.phase == "" && r.strike != nil {
		r.strike(t, s)
	}
	l := p.launch(t, s.out, append(s.args, "--server-args", s.serving, "--client-args", cmp.Or(r.args, small(r.phase)))...)
	s.run = l
	if r.phase != "" {
		r.await(t, s)
		fault = time.Now()
		r.strike(t, s)
	}
	o.hung = true
	o.seen = l.see(t, p, fault)
	l.end(t, fault, r.length())
	o.hung = false
	r.checkEnd(t, s, fault)
	o.ended = time.Since(fault)
	o.valid = l.verdict() == "VALID"
	s.mend()
	l.before = before
	l.checkLeft(t, p, time.Now())
	if t.Failed() {
		p.end() // so that the next row does not fail as well
	}
	o.right = !t.Failed()
}

// models are the servers' execution models, of which each row draws one.
var models = []string{"conn", "bounded:2", "pool:2", "pool:auto", "hybrid", "parked"}

func (r row) scene(t *testing.T, p *pair, random *rand.Rand) *scene {
	s := &scene{pair: p, random: random, out: t.TempDir(), serving: "-model " + models[random.IntN(len(models))]}
	t.Logf("server: %s", s.serving)
	switch r.victim {
	case metrics.Server:
		s.victim, s.program = p.server, "kvsserver"
	case metrics.Client:
		s.victim, s.program = p.client, "kvsclient"
	}
	return s
}

// await waits for the moment to strike.
func (r row) await(t *testing.T, s *scene) {
	t.Helper()
	if r.phase != starting {
		s.run.reach(t, s.client, "kvsclient", "phase "+r.phase)
	}
	if s.victim != nil {
		s.process(t)
	}
	time.Sleep(r.after) // the moment that was drawn
}

// length returns the length of a run that survives a fault.
func (r row) length() time.Duration {
	if r.lasts {
		return longRun
	}
	return 0
}

// statusOf returns the launcher's exit status for a verdict.
func statusOf(verdict string) int {
	switch verdict {
	case "VALID":
		return 0
	case "":
		return -1
	}
	return 1
}

// checkEnd checks the launcher's output, and that no node is left.
func (r row) checkEnd(t *testing.T, s *scene, fault time.Time) {
	t.Helper()
	want := r.verdict
	if s.victim != nil {
		want = strings.ReplaceAll(want, "VICTIM", s.victim.name)
	}
	l := s.run
	if got := l.verdict(); !regexp.MustCompile("^"+want+"$").MatchString(got) || l.ProcessState.ExitCode() != statusOf(got) {
		t.Errorf("exit status %d, verdict %q; want %q", l.ProcessState.ExitCode(), got, want)
	}
	switch {
	case r.lasts:
		s.checkAlone(t, time.Now())
	case r.phase != "":
		s.checkAlone(t, fault)
	}
	if r.proof != nil && l.verdict() == "VALID" {
		r.proof(t, s)
	}
}

// checkAlone waits until no program of ours runs on the hosts, disconnected ones too.
func (p *pair) checkAlone(t *testing.T, fault time.Time) {
	t.Helper()
	for {
		left := p.programs()
		if len(left) == 0 {
			t.Logf("all nodes left after %.1f s", time.Since(fault).Seconds())
			return
		}
		if time.Since(fault) > within {
			t.Errorf("the hosts still run %v %v after the fault", left, within)
			return
		}
		time.Sleep(20 * time.Millisecond)
	}
}

// programs lists our processes on the hosts.
func (p *pair) programs() (pids []int) {
	for _, h := range []*host{p.server, p.client} {
		pids = append(append(pids, h.runs("kvsserver")...), h.runs("kvsclient")...)
	}
	return pids
}

// end kills them.
func (p *pair) end() {
	for _, pid := range p.programs() {
		syscall.Kill(pid, syscall.SIGKILL)
	}
}
