package service

import (
	"maps"

	"kvlab/metrics"
)

// MaxLanes is one more than the highest number of a peer's connection.
const MaxLanes = 1 << 16

// lane is a peer's connection, with those that it replaced.
type lane struct {
	peer     string
	protocol metrics.Protocol
	number   int
}

func (c *Conn) lane() lane { return lane{c.peer, c.Protocol, c.Lane} }

// Sessions returns what a peer's connections carried so far.
func (s *Service) Sessions(peer string) (all []metrics.Sessions) {
	s.mu.Lock()
	defer s.mu.Unlock()
	lanes := maps.Clone(s.lanes)
	for c := range s.conns {
		if !c.stranger {
			lanes[c.lane()] += c.counts().Ops()
		}
	}
	at := make(map[metrics.Protocol]int)
	for l, ops := range lanes {
		if l.peer != peer {
			continue
		}
		i, known := at[l.protocol]
		if !known {
			i, at[l.protocol] = len(all), len(all)
			all = append(all, metrics.Sessions{Protocol: l.protocol})
		}
		all[i].Ops = append(all[i].Ops, make([]uint64, max(0, l.number+1-len(all[i].Ops)))...)
		all[i].Ops[l.number] = ops
	}
	return all
}
