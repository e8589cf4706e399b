package stats

// Goodput returns the maximum TCP payload in bytes per second that a link carries in one
// direction. A full segment with timestamps carries 1448 bytes and takes 1538 bytes on
// Ethernet with an MTU of 1500 bytes (preamble, header, check sequence and gap included;
// IEEE 802.3, RFC 7323). The shaper of a virtual host's link, tbf, counts 1514 of these
// bytes: a frame from its Ethernet header on (tc-tbf(8)). It lets through 1.6 % more than
// a wire of that rate.
func Goodput(bitsPerS uint64, shaped bool) float64 {
	const payloadBytes = 1448
	frameBytes := 1538.0
	if shaped {
		frameBytes = 1514
	}
	return float64(bitsPerS) / 8 * payloadBytes / frameBytes
}

// Wire is what a run's operations put on the network. Each machine has a separate
// full-duplex link.
type Wire struct {
	Goodput  float64 // of each link in one direction, in bytes per second
	Servers  int
	Clients  int
	Shared   bool    // every machine is both a server and a client, Servers of them; otherwise none is
	ToServer float64 // bytes of the mean operation from client to server
	ToClient float64 // bytes of its result
	Balance  float64 // of the servers' shares; see Balance
}

// Limit returns the operations per second that the wire allows: the side with fewer links
// sets it, in the direction that carries more. On shared machines both directions of an
// operation leave through some machine's link, except for the operations that stay on
// their machine; the limit of one machine is +Inf.
func (w Wire) Limit() float64 {
	if n := float64(w.Servers); w.Shared {
		return n * w.Goodput / ((w.ToServer + w.ToClient) * (n - 1) / n) * w.Balance
	}
	return w.Goodput * float64(min(w.Servers, w.Clients)) / max(w.ToServer, w.ToClient) * w.Balance
}
