package faults

import (
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"
)

// row is one line of the table: a fault, and what must come of it.
type row struct {
	name    string
	prepare func(*testing.T, *scene) // before the launcher starts; may be nil
	phase   string                   // of the client when the fault strikes; "" for before the launcher starts
	strike  func(*testing.T, *scene)
	verdict string // a regular expression, in which SERVER and CLIENT are the hosts' names
	status  int    // the launcher's exit status; -1 when it was killed
}

// scene is where a row takes place.
type scene struct {
	*pair
	out  string   // for --out
	args []string // further ones for the launcher
	run  *launch  // nil before the launcher starts
	undo []func() // what mends the hosts, once the launcher has ended
}

// mended has something done once the launcher has ended.
func (s *scene) mended(undo func()) { s.undo = append(s.undo, undo) }

// small is a run's size: the load takes a moment, or in the phase load a while.
func small(phase string) string {
	switch phase {
	case "load":
		return "-records 3000000 -workers 4 -batch 64 -warmup 0 -secs 600"
	case "warmup":
		return "-records 2000 -workers 4 -batch 64 -warmup 300 -secs 600"
	}
	return "-records 2000 -workers 4 -batch 64 -warmup 0 -secs 600"
}

// check strikes and sees what comes of it.
func (r row) check(t *testing.T, p *pair) {
	s := &scene{pair: p, out: t.TempDir()}
	mend := func() {
		for _, undo := range s.undo {
			undo()
		}
		s.undo = nil
	}
	defer mend()
	before := p.state()
	if r.prepare != nil {
		r.prepare(t, s)
	}
	fault := time.Now()
	if r.phase == "" {
		r.strike(t, s)
	}
	l := p.launch(t, s.out, append(s.args, "--client-args", small(r.phase))...)
	s.run = l
	if r.phase != "" {
		l.reach(t, p.client, "kvsclient", "phase "+r.phase)
		fault = time.Now()
		r.strike(t, s)
	}
	l.end(t, fault)
	want := strings.NewReplacer("SERVER", p.server.name, "CLIENT", p.client.name).Replace(r.verdict)
	if got := l.verdict(); !regexp.MustCompile("^"+want+"$").MatchString(got) || l.ProcessState.ExitCode() != r.status {
		t.Errorf("exit status %d, verdict %q; want %d, %q", l.ProcessState.ExitCode(), got, r.status, want)
	}
	if r.phase != "" {
		p.checkAlone(t, fault)
	}
	mend()
	l.before = before
	l.checkLeft(t, p, time.Now())
	if t.Failed() {
		p.end() // so that the next row does not fail as well
	}
}

// checkAlone waits until no program of ours runs on the hosts, on one that is
// cut off neither.
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

// programs are the processes of ours on the hosts.
func (p *pair) programs() (pids []int) {
	for _, h := range []*host{p.server, p.client} {
		pids = append(append(pids, h.runs("kvsserver")...), h.runs("kvsclient")...)
	}
	return pids
}

// end ends them.
func (p *pair) end() {
	for _, pid := range p.programs() {
		syscall.Kill(pid, syscall.SIGKILL)
	}
}
