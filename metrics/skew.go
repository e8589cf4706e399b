package metrics

// Skew is how unevenly a run's operations fall on records and servers, in theory
// and as the servers observed.
type Skew struct {
	Law     string `json:"law"` // the flags behind the theory, as they are typed
	Router  string `json:"router"`
	Records uint64 `json:"records"`

	// TopShare is the share of all operations that the most popular record has in
	// theory, 0 to 1; 0 where no record has a fixed share: operations are sequential, or
	// the records that are inserted become the most popular ones. Then nothing but the kinds
	// is compared with theory.
	TopShare float64 `json:"top_share"`
	// Head are the most popular records that stand out, the most popular first. Their
	// observed shares are of a sample of the servers' operations in the window.
	Head       []HeadShare `json:"head,omitempty"`
	SampledOps uint64      `json:"sampled_ops"`

	Servers []ServerShare `json:"servers"`  // in the clients' order, of all operations after the load
	Kinds   []KindShare   `json:"kinds"`    // likewise
	HitRate float64       `json:"hit_rate"` // of the reads and deletes of the windows, 0 to 1; 1 for none

	// Balances are those of other numbers of servers with the same operations, in rising
	// order; nil without a TopShare.
	Balances []RouterBalance `json:"balances,omitempty"`
}

// Share is a share of all operations, 0 to 1: as theory has it, and as it was.
type Share struct {
	Theory   float64 `json:"theory"`
	Observed float64 `json:"observed"`
}

// HeadShare is the share of one of the most popular records.
type HeadShare struct {
	Rank int `json:"rank"` // from 1
	Share
}

// ServerShare is the share of a server; theory is the router's.
type ServerShare struct {
	Server string `json:"server"`
	Share
}

// KindShare is the share of a kind of operation: gets, puts, read-modify-writes.
type KindShare struct {
	Kind string `json:"kind"`
	Share
}

// RouterBalance is the Balance that the routers reach with a number of servers,
// in theory.
type RouterBalance struct {
	Servers  int     `json:"servers"`
	Best     float64 `json:"best"` // that any router can reach: BestBalance
	FNV      float64 `json:"fnv"`
	Balanced float64 `json:"balanced"`
}

// HeadTotal is the share of all of the Head together.
func (s Skew) HeadTotal() Share {
	var sum Share
	for _, h := range s.Head {
		sum.Theory += h.Theory
		sum.Observed += h.Observed
	}
	return sum
}

// Balance is the Balance of the servers' shares, 0 to 1, in theory and as it was.
func (s Skew) Balance() Share {
	most := s.Busiest()
	n := float64(max(1, len(s.Servers)))
	return Share{Theory: 1 / (n * most.Theory), Observed: 1 / (n * most.Observed)}
}

// Busiest is the largest observed share, with its server, and the largest
// theoretical one; 1 without a server.
func (s Skew) Busiest() ServerShare {
	if len(s.Servers) == 0 {
		return ServerShare{Share: Share{1, 1}}
	}
	most := s.Servers[0]
	for _, server := range s.Servers[1:] {
		if server.Observed > most.Observed {
			most.Server, most.Observed = server.Server, server.Observed
		}
		most.Theory = max(most.Theory, server.Theory)
	}
	return most
}
