package service

import (
	"fmt"
	"sync"
)

// Placement are how somebody believes that the keys are spread: which server one
// is, of how many, and who owns what. The zero Shards believe nothing.
type Placement struct {
	Server  int    `json:"server"`           // its number, from 0, in the order of -hosts
	Servers int    `json:"servers"`          // how many there are; 0 when nothing is believed
	Router  string `json:"router,omitempty"` // its name; "" when it is not known
	Owners  string `json:"owners,omitempty"` // the router's route.Fingerprint
}

// String says it in words.
func (s Placement) String() string {
	text := fmt.Sprintf("server %d of %d", s.Server, s.Servers)
	if s.Router != "" {
		text += fmt.Sprintf(" of router %s (%s)", s.Router, s.Owners)
	}
	return text
}

// contradicts reports whether both cannot be true.
func (s Placement) contradicts(t Placement) bool {
	if s.Servers == 0 || t.Servers == 0 {
		return false
	}
	known := s.Router != "" && t.Router != ""
	return s.Server != t.Server || s.Servers != t.Servers || known && (s.Router != t.Router || s.Owners != t.Owners)
}

// agreement is what the clients of a server believe, all the same, as long as
// there are any. It is safe for concurrent use.
type agreement struct {
	mu      sync.Mutex
	told    Placement // the server itself, which stays; guarded by mu, as the rest
	agreed  Placement
	whose   string // client's
	holders int    // who agree
}

// Place tells the service which server it is. Without it, that is what its first
// client says.
func (s *Service) Place(shards Placement) {
	s.agreement.mu.Lock()
	defer s.agreement.mu.Unlock()
	s.agreement.told = shards
}

// Agree compares what a client believes with what the service was told and what
// the others believe who have agreed. An error names both beliefs, and whose they
// are. leave, to be called once and only without an error, ends the client's part.
func (s *Service) Agree(client string, shards Placement) (leave func(), err error) {
	a := &s.agreement
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.told.contradicts(shards) {
		return nil, fmt.Errorf("it is %v, and the client (%s) takes it for %v: %s", a.told, client, shards, oneOrder)
	}
	if shards.Servers == 0 {
		return func() {}, nil
	}
	if a.holders > 0 && a.agreed.contradicts(shards) {
		return nil, fmt.Errorf("the client %s takes it for %v, and the client %s for %v: %s", a.whose, a.agreed, client, shards, oneOrder)
	}
	if a.holders == 0 {
		a.agreed, a.whose = shards, client
	}
	a.holders++
	return a.leave, nil
}

func (a *agreement) leave() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.holders--
}

const oneOrder = "all must have one list of -hosts, in one order, and one -router for one workload"
