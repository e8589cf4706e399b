package stats

// The frames of Ethernet with an MTU of 1500 bytes: of 1538 bytes on the wire
// (preamble, header, check sequence and gap included) 1448 are TCP payload, when
// segments are full and carry timestamps (IEEE 802.3, RFC 7323).
const (
	wireBytes    = 1538
	payloadBytes = 1448
)

// Goodput is the most TCP payload, in bytes per second, that a link of gbps Gb/s
// carries in one direction.
func Goodput(gbps float64) float64 { return gbps * 1e9 / 8 * payloadBytes / wireBytes }

// ShapedGoodput is the TCP payload in bytes per second that a virtual host's link
// carries in one direction at most. Its shaper, tbf, counts a frame from its Ethernet
// header on (tc-tbf(8)), 1514 bytes with 1448 of payload, and not what a wire spends
// between frames: it lets through 1.6 % more than a wire of that rate.
func ShapedGoodput(bitsPerS uint64) float64 {
	const frameBytes = 1514
	return float64(bitsPerS) / 8 * payloadBytes / frameBytes
}

// Wire is what a run's operations put on the network. Its servers and clients
// are different machines, each with a separate full-duplex link.
type Wire struct {
	Goodput  float64 // of each link in one direction, in bytes per second
	Servers  int
	Clients  int
	ToServer float64 // bytes of the mean operation from client to server
	ToClient float64 // and of its result
	Balance  float64 // of the servers' shares; see Balance
}

// Limit is the operations per second that the wire allows: the side with fewer
// links sets it, in the direction that carries more.
func (w Wire) Limit() float64 {
	return w.Goodput * float64(min(w.Servers, w.Clients)) / max(w.ToServer, w.ToClient) * w.Balance
}

// SharedLimit is Limit when every machine is both a server and a client, Servers
// of them: what an operation puts on the wire in both directions leaves through
// some machine's link, but for the share of the operations that stay on theirs.
// It is +Inf for one machine, which needs no wire.
func (w Wire) SharedLimit() float64 {
	n := float64(w.Servers)
	return n * w.Goodput / ((w.ToServer + w.ToClient) * (n - 1) / n) * w.Balance
}
