package kvs

import (
	"fmt"
	"strconv"
	"sync"
)

// Shards are how somebody believes that the keys are spread: which server one
// is, of how many, and who owns what. The zero Shards believe nothing.
type Shards struct {
	Server  int    `json:"server"`           // its number, from 0, in the order of -hosts
	Servers int    `json:"servers"`          // how many there are; 0 when nothing is believed
	Router  string `json:"router,omitempty"` // its name; "" when it is not known
	Owners  string `json:"owners,omitempty"` // the router's OwnersDigest
}

// String says it in words.
func (s Shards) String() string {
	text := fmt.Sprintf("server %d of %d", s.Server, s.Servers)
	if s.Router != "" {
		text += fmt.Sprintf(" of router %s (%s)", s.Router, s.Owners)
	}
	return text
}

// contradicts reports whether both cannot be true.
func (s Shards) contradicts(t Shards) bool {
	if s.Servers == 0 || t.Servers == 0 {
		return false
	}
	known := s.Router != "" && t.Router != ""
	return s.Server != t.Server || s.Servers != t.Servers || known && (s.Router != t.Router || s.Owners != t.Owners)
}

// digestKeys are so many that they meet 86 % of the balanced router's slots.
const digestKeys = 2 * slots

// OwnersDigest is the KeyHash, in hex, of the numbers of the servers that own the
// keys 0, 1, 2 and so on to 16383, a byte each. Two routers that send those alike
// hardly send others differently: a table that was made for another workload
// differs in most of its slots.
func OwnersDigest(router Router) string {
	hash := KeyHash(nil)
	for i := range digestKeys {
		key := strconv.AppendInt(nil, int64(i), 10)
		hash = KeyHashByte(hash, byte(router.Server(key, KeyHash(key))))
	}
	return fmt.Sprintf("%016x", hash)
}

// agreement is what the clients of a server believe, all the same, as long as
// there are any. It is safe for concurrent use.
type agreement struct {
	mu      sync.Mutex
	told    Shards // the server itself, which stays; guarded by mu, as the rest
	agreed  Shards
	whose   string // client's
	holders int    // who agree
}

// Place tells the service which server it is. Without it, that is what its first
// client says.
func (s *Service) Place(shards Shards) {
	s.agreement.mu.Lock()
	defer s.agreement.mu.Unlock()
	s.agreement.told = shards
}

// Agree compares what a client believes with what the service was told and what
// the others believe who have agreed. An error names both beliefs, and whose they
// are. leave, to be called once and only without an error, ends the client's part.
func (s *Service) Agree(client string, shards Shards) (leave func(), err error) {
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
