package preflight

import (
	"context"
	"errors"
	"slices"

	"kvlab/kvs/cluster/plan"
	"kvlab/kvs/cluster/remote"
	"kvlab/kvs/node"
	"kvlab/metrics"
)

// rttPeers is the number of machines to which each machine measures the round-trip
// time: the next ones in the plan's order, so that the work is linear in the number of
// machines.
const rttPeers = 16

// machine is one machine of a survey, with its probe.
type machine struct {
	metrics.Machine
	place   plan.Place
	way     remote.Way   // runs programs there
	listen  []string     // its servers' listen addresses
	probe   *probeClient // nil without a probe
	reached string       // the address at which other probes reach this one; "" for none or an error
	err     error        // why the machine could not be probed
	dataErr string       // what is wrong with its data address
}

// survey probes all of a plan's machines concurrently, and leaves no process on them.
type survey struct {
	Target
	machines []*machine // in the order of their first places
}

// survey returns a survey that has not begun. A local plan has one machine, independent
// of the nodes' names.
func (t Target) survey() *survey {
	s := &survey{Target: t}
	known := make(map[string]*machine)
	for _, place := range t.Plan.Places {
		name := place.Node.Name
		if t.Plan.Local {
			name = ""
		}
		m := known[name]
		if m == nil {
			m = &machine{place: place, way: t.Runner.Way(place.Node), Machine: metrics.Machine{Address: place.Data}}
			known[name], s.machines = m, append(s.machines, m)
		}
		m.Nodes = append(m.Nodes, place.Name)
		m.Roles = append(m.Roles, place.Role)
		if place.Listen != "" && !t.Plan.Local { // port 0 is free
			m.listen = append(m.listen, place.Listen)
		}
	}
	return s
}

// blame records each fault of Deploy at its machine, and returns an error that has no
// machine.
func (s *survey) blame(err error) error {
	joined, ok := err.(interface{ Unwrap() []error })
	if !ok {
		return err
	}
	for _, err := range joined.Unwrap() {
		f := err.(*plan.Fault)
		for _, m := range s.machines {
			if slices.Contains(m.Nodes, f.Node) {
				m.err = f
			}
		}
	}
	return nil
}

// run asks all questions and returns the round-trip times. Each machine then has its
// answers or its error. The error of run is plan.ErrInterrupted.
func (s *survey) run(ctx context.Context) ([]metrics.RTT, error) {
	defer s.end()
	s.begin(ctx)
	s.each(len(s.machines), func(i int, m *machine) {
		question := node.Question{Data: m.place.Data, Listen: m.listen}
		if len(s.machines) > 1 {
			question.Route = s.machines[(i+1)%len(s.machines)].place.Data
		}
		answer, err := m.probe.ask(ctx, node.Facts, question)
		if err == nil && answer.Facts == nil {
			err = errors.New("its probe said nothing about the machine")
		}
		m.Facts, m.reached, m.dataErr, m.err = answer.Facts, answer.Listening, answer.DataError, err
	})
	rtts := s.measure(ctx)
	if ctx.Err() != nil {
		return nil, plan.ErrInterrupted
	}
	return rtts, nil
}

// begin starts a probe on every machine without an error, and reads its clock, which
// also shows that the probe runs.
func (s *survey) begin(ctx context.Context) {
	s.each(remote.Parallel, func(_ int, m *machine) {
		if m.probe, m.err = startProbe(s.Runner, m.place); m.err == nil {
			m.ClockBefore, m.err = m.probe.clock(ctx)
		}
	})
}

// each calls do for every machine without an error, at most atOnce at a time.
func (s *survey) each(atOnce int, do func(i int, m *machine)) {
	remote.Each(len(s.machines), atOnce, func(i int) {
		if m := s.machines[i]; m.err == nil {
			do(i, m)
		}
	})
}

// measure measures the round-trip times between the machines.
func (s *survey) measure(ctx context.Context) []metrics.RTT {
	rtts := make([][]metrics.RTT, len(s.machines))
	s.each(len(s.machines), func(i int, from *machine) {
		var question node.Question
		var peers []string
		for n := range min(rttPeers, len(s.machines)-1) {
			if peer := s.machines[(i+1+n)%len(s.machines)]; peer.reached != "" {
				peers, question.Peers = append(peers, peer.Name()), append(question.Peers, peer.reached)
			}
		}
		var answer reply
		answer, from.err = from.probe.ask(ctx, node.Dial, question)
		rtts[i] = answer.RTTs // one for each peer, none after an error
		for n := range rtts[i] {
			rtts[i][n].From, rtts[i][n].To = from.Name(), peers[n]
		}
	})
	return slices.Concat(rtts...)
}

// end ends every probe.
func (s *survey) end() {
	remote.Each(len(s.machines), len(s.machines), func(i int) {
		if p := s.machines[i].probe; p != nil {
			p.end(s.Leave)
		}
	})
}
