package service

import (
	"fmt"
	"sync"
)

// Placement is one node's view of how keys are spread: which server this is, of how
// many, and who owns which key. The zero Placement conflicts with none.
type Placement struct {
	Server  int    `json:"server"`           // its number, from 0, in the order of -hosts
	Servers int    `json:"servers"`          // how many there are; 0 if unknown
	Router  string `json:"router,omitempty"` // its name; "" if unknown
	Owners  string `json:"owners,omitempty"` // the router's route.Fingerprint
}

func (p Placement) String() string {
	text := fmt.Sprintf("server %d of %d", p.Server, p.Servers)
	if p.Router != "" {
		text += fmt.Sprintf(" of router %s (%s)", p.Router, p.Owners)
	}
	return text
}

// conflicts reports whether p and q cannot both be true.
func (p Placement) conflicts(q Placement) bool {
	if p.Servers == 0 || q.Servers == 0 {
		return false
	}
	known := p.Router != "" && q.Router != ""
	return p.Server != q.Server || p.Servers != q.Servers || known && (p.Router != q.Router || p.Owners != q.Owners)
}

// placementCheck holds the placement on which all connected clients agree.
type placementCheck struct {
	mu      sync.Mutex
	own     Placement // the server's own; guarded by mu, as are the next three
	agreed  Placement
	client  string // the first client that agreed
	clients int    // number of connected clients that agreed
}

// Place sets the server's own placement. Without it the first client decides.
func (s *Service) Place(own Placement) {
	s.placement.mu.Lock()
	defer s.placement.mu.Unlock()
	s.placement.own = own
}

// CheckPlacement compares a client's placement with the server's own and with that of
// the other clients. The error names both views. release, if there is no error, is
// called once, when the client disconnects.
func (s *Service) CheckPlacement(client string, placement Placement) (release func(), err error) {
	c := &s.placement
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.own.conflicts(placement) {
		return nil, fmt.Errorf("it is %v, but the client (%s) expects %v: %s", c.own, client, placement, placementAdvice)
	}
	if placement.Servers == 0 {
		return func() {}, nil
	}
	if c.clients > 0 && c.agreed.conflicts(placement) {
		return nil, fmt.Errorf("the client %s expects %v, but the client %s expects %v: %s", c.client, c.agreed, client, placement, placementAdvice)
	}
	if c.clients == 0 {
		c.agreed, c.client = placement, client
	}
	c.clients++
	return c.release, nil
}

func (c *placementCheck) release() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.clients--
}

const placementAdvice = "all need the same -hosts in the same order, and the same -router and workload"
