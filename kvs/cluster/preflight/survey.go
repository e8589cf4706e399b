package preflight

import (
	"context"
	"errors"
	"slices"
	"time"

	"kvlab/kvs/cluster/plan"
	"kvlab/kvs/cluster/remote"
	"kvlab/kvs/node"
	"kvlab/metrics"

	"golang.org/x/sync/errgroup"
)

// rttPeers is the number of machines to which each machine measures the round-trip
// time: the next ones in the plan's order, so that the work is linear in the number of
// machines.
const rttPeers = 16

// machine is one machine of a survey, with its probe.
type machine struct {
	metrics.Machine
	place   plan.Place
	way     remote.Way // runs programs there
	listen  []string   // its servers' listen addresses
	prober  *prober    // nil without a probe
	reached string     // the address at which other probes reach this one; "" for none
	err     error      // why the machine could not be probed
	dataErr string     // what is wrong with its data address
}

// sitesOf returns the plan's machines, in the order of their first places. A local plan
// has one machine, independent of the nodes' names.
func sitesOf(p plan.Plan, runner *remote.Runner) []*machine {
	var sites []*machine
	known := make(map[string]*machine)
	for _, place := range p.Places {
		name := place.Node.Name
		if p.Local {
			name = ""
		}
		s := known[name]
		if s == nil {
			s = &machine{place: place, way: runner.Way(place.Node), Machine: metrics.Machine{Address: place.Data}}
			known[name], sites = s, append(sites, s)
		}
		s.Nodes = append(s.Nodes, place.Name)
		s.Roles = append(s.Roles, place.Role)
		if place.Listen != "" && !p.Local { // port 0 is free
			s.listen = append(s.listen, place.Listen)
		}
	}
	return sites
}

// survey probes all of a plan's machines concurrently, and leaves no process on them.
type survey struct {
	runner *remote.Runner
	start  time.Duration // for a program's first answer
	leave  time.Duration
	sites  []*machine
}

// run asks all questions and returns the round-trip times. Each site then has its
// answers or its error. The error of run is plan.ErrInterrupted.
func (s *survey) run(ctx context.Context) ([]metrics.RTT, error) {
	defer s.end()
	s.begin(ctx, func(site *machine, at metrics.ClockOffset) { site.ClockBefore = &at })
	s.each(len(s.sites), func(i int, site *machine) {
		question := node.Question{Data: site.place.Data, Listen: site.listen}
		if len(s.sites) > 1 {
			question.Route = s.sites[(i+1)%len(s.sites)].place.Data
		}
		answer, err := site.prober.ask(ctx, node.Facts, question)
		if err == nil && answer.Facts == nil {
			err = errors.New("its probe said nothing about the machine")
		}
		site.Facts, site.reached, site.dataErr, site.err = answer.Facts, answer.Listening, answer.DataError, err
	})
	rtts := s.measure(ctx)
	if ctx.Err() != nil {
		return nil, plan.ErrInterrupted
	}
	return rtts, nil
}

// clocks reads only the clocks, after a run.
func (s *survey) clocks(ctx context.Context) {
	defer s.end()
	s.begin(ctx, func(site *machine, at metrics.ClockOffset) { site.ClockAfter = &at })
}

// begin starts a probe on every machine without an error, and reads its clock, which
// also shows that the probe runs.
func (s *survey) begin(ctx context.Context, note func(*machine, metrics.ClockOffset)) {
	var group errgroup.Group
	group.SetLimit(remote.Parallel)
	for _, site := range s.sites {
		if site.err != nil {
			continue
		}
		group.Go(func() error {
			if site.prober, site.err = startProber(s.runner, site.place, s.start); site.err != nil {
				return nil
			}
			var at metrics.ClockOffset
			if at, site.err = site.prober.clock(ctx); site.err == nil {
				note(site, at)
			}
			return nil
		})
	}
	_ = group.Wait() // errors are the sites'
}

// each calls do for every machine without an error, at most atOnce at a time.
func (s *survey) each(atOnce int, do func(i int, site *machine)) {
	var group errgroup.Group
	group.SetLimit(max(atOnce, 1))
	for i, site := range s.sites {
		if site.err == nil {
			group.Go(func() error { do(i, site); return nil })
		}
	}
	_ = group.Wait() // errors are the sites'
}

// measure measures the round-trip times between the machines.
func (s *survey) measure(ctx context.Context) []metrics.RTT {
	peers := make([][]*machine, len(s.sites))
	for i := range s.sites {
		for n := 1; n < len(s.sites) && n <= rttPeers; n++ {
			if peer := s.sites[(i+n)%len(s.sites)]; peer.err == nil && peer.reached != "" {
				peers[i] = append(peers[i], peer)
			}
		}
	}
	rtts := make([][]metrics.RTT, len(s.sites))
	s.each(len(s.sites), func(i int, from *machine) {
		if len(peers[i]) > 0 {
			rtts[i], from.err = from.measure(ctx, peers[i])
		}
	})
	return slices.Concat(rtts...)
}

// measure measures the round-trip times from the machine to its peers.
func (s *machine) measure(ctx context.Context, peers []*machine) ([]metrics.RTT, error) {
	question := node.Question{}
	for _, peer := range peers {
		question.Peers = append(question.Peers, peer.reached)
	}
	answer, err := s.prober.ask(ctx, node.Dial, question)
	if err != nil {
		return nil, err
	}
	if len(answer.RTTs) != len(peers) {
		return nil, errors.New("its probe measured other ways than it was asked about")
	}
	var rtts []metrics.RTT
	for i, peer := range peers {
		rtts = append(rtts, metrics.RTT{From: s.Name(), To: peer.Name(), US: answer.RTTs[i].US, Err: answer.RTTs[i].Error})
	}
	return rtts, nil
}

// end ends every probe.
func (s *survey) end() {
	var group errgroup.Group
	for _, site := range s.sites {
		if p := site.prober; p != nil {
			site.prober = nil
			group.Go(func() error { p.end(s.leave); return nil })
		}
	}
	_ = group.Wait() // no errors
}
