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

// carried is what a lane carried; see metrics.Sessions.
type carried struct{ ops, keys uint64 }

func (c carried) add(d carried) carried { return carried{c.ops + d.ops, c.keys + d.keys} }

func (c *Conn) carried() carried {
	c.mu.Lock()
	defer c.mu.Unlock()
	return carried{c.done.Ops(), c.keys}
}

// Sessions returns what a peer's connections carried so far.
func (s *Service) Sessions(peer string) (all []metrics.Sessions) {
	s.mu.Lock()
	defer s.mu.Unlock()
	lanes := maps.Clone(s.lanes)
	for c := range s.conns {
		if !c.thirdParty {
			lanes[c.lane()] = lanes[c.lane()].add(c.carried())
		}
	}
	at := make(map[metrics.Protocol]int)
	for l, carried := range lanes {
		if l.peer != peer {
			continue
		}
		i, known := at[l.protocol]
		if !known {
			i, at[l.protocol] = len(all), len(all)
			all = append(all, metrics.Sessions{Protocol: l.protocol})
		}
		missing := make([]uint64, max(0, l.number+1-len(all[i].Ops)))
		all[i].Ops, all[i].Keys = append(all[i].Ops, missing...), append(all[i].Keys, missing...)
		all[i].Ops[l.number], all[i].Keys[l.number] = carried.ops, carried.keys
	}
	return all
}
