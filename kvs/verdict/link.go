package verdict

import (
	"cmp"

	"kvlab/metrics/stats"
)

// shaperBytes is what the shaper of a virtual host's link lets pass at once beside its rate:
// its bucket, up to 1 Gb/s.
const shaperBytes = 256 << 10

// checkLink: each machine's link carries in the window, in either direction, the payload of
// the operations that are counted in it, but for those that were under way when it opened.
func checkLink(run *judged) finding {
	rate := run.Preflight.SlowestLink()
	if run.Lab != nil {
		rate = run.Lab.LinkBitsPerS
	}
	if rate == 0 {
		return inapplicable("the rate of the links is not known")
	}
	sent, received, name := linkBytes(run)
	if name == "" {
		return inapplicable("-local or -symmetric: servers and clients share machines")
	}
	underWayBytes := 0.0
	for _, node := range run.Clients() {
		if sums := roundsOf(node); sums != nil {
			b, ops := node.Summary.BytesInWindow, max(1, node.Summary.InWindow.Ops())
			underWayBytes += underWay(run, sums) * float64(max(b.Sent, b.Received)) / float64(ops)
		}
	}
	raw := float64(rate) / 8 * run.WindowS // no frame has headers only: payload is less
	carries := raw
	if run.Lab != nil {
		carries = stats.Goodput(rate, true)*run.WindowS + shaperBytes
		raw += shaperBytes
	}
	switch counted := max(sent, received); {
	case counted > raw+underWayBytes:
		return failed(name, "the operations counted in the window have %.1f MB of payload, its link carries %.1f MB, and %.1f MB were under way", counted/1e6, raw/1e6, underWayBytes/1e6)
	case counted > carries:
		return doubted(name, "the operations counted in the window have %.1f MB of payload on the link of %s, which carries %.1f MB: the others were under way when it opened", counted/1e6, name, carries/1e6)
	default:
		return passed("the operations counted in the window have %.1f MB of payload on the link of %s, which carries %.1f MB", counted/1e6, name, carries/1e6)
	}
}

// linkBytes returns the payload of the window on the fullest link in each direction, and the
// machine of that link; "" where servers and clients share machines. A server's is computed
// from the mean operation of each client.
func linkBytes(run *judged) (sent, received float64, name string) {
	machines, of := make(map[string][2]float64), make(map[string]string) // by server
	for _, node := range run.Servers() {
		of[node.Name] = cmp.Or(node.Machine, node.Name)
		machines[of[node.Name]] = [2]float64{}
	}
	servers := len(machines)
	add := func(machine string, out, in float64) {
		bytes := machines[machine]
		machines[machine] = [2]float64{bytes[0] + out, bytes[1] + in}
	}
	clients := make(map[string]bool)
	for _, node := range run.Clients() {
		machine, s := cmp.Or(node.Machine, node.Name), node.Summary
		if _, shared := machines[machine]; shared && !clients[machine] {
			return 0, 0, ""
		}
		clients[machine] = true
		b, ops := s.BytesInWindow, float64(max(1, s.InWindow.Ops()))
		add(machine, float64(b.Sent), float64(b.Received))
		for _, peer := range s.Peers {
			share := float64(peer.Window.Ops()) / ops
			add(of[peer.Peer], share*float64(b.Received), share*float64(b.Sent))
		}
	}
	if servers == 0 {
		return 0, 0, ""
	}
	for machine, bytes := range machines {
		if name == "" || max(bytes[0], bytes[1]) > max(sent, received) {
			sent, received, name = bytes[0], bytes[1], machine
		}
	}
	return sent, received, name
}
