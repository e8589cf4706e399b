package bottleneck

import (
	"cmp"

	"kvlab/metrics"
)

// LinkBytes returns the payload of the window on the fullest link in each direction, and the
// machine of that link; "" where servers and clients share machines. A server's is computed
// from the mean operation of each client.
func LinkBytes(run *metrics.Run) (sent, received float64, name string) {
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
