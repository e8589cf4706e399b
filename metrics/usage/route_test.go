package usage

import (
	"net"
	"net/netip"
	"testing"
)

func loopbackName(t *testing.T) string {
	t.Helper()
	for _, i := range must(net.Interfaces())(t) {
		if i.Flags&net.FlagLoopback != 0 {
			return i.Name
		}
	}
	t.Skip("no loopback interface")
	return ""
}

// TestInterfaceForOwnAddresses goes through every address of the machine: the
// kernel sends all such traffic over the loopback interface.
func TestInterfaceForOwnAddresses(t *testing.T) {
	lo := loopbackName(t)
	peers := []netip.Addr{netip.MustParseAddr("127.0.0.1"), netip.MustParseAddr("127.9.8.7"), netip.MustParseAddr("::ffff:127.0.0.1")}
	for _, a := range must(net.InterfaceAddrs())(t) {
		peer := netip.MustParsePrefix(a.String()).Addr()
		if !peer.IsLinkLocalUnicast() { // needs a zone
			peers = append(peers, peer)
		}
	}
	for _, peer := range peers {
		if got, err := InterfaceFor(netip.AddrPortFrom(peer, 9).String()); got != lo || err != nil {
			t.Errorf("InterfaceFor(%s) = %q, %v, want %q", peer, got, err, lo)
		}
	}
}

// TestInterfaceForNeighbours asks for an address beside each of the machine's
// own, which the kernel has a route to over that interface.
func TestInterfaceForNeighbours(t *testing.T) {
	lo := loopbackName(t)
	for _, i := range must(net.Interfaces())(t) {
		if i.Flags&net.FlagUp == 0 || i.Name == lo {
			continue
		}
		for _, a := range must(i.Addrs())(t) {
			prefix := netip.MustParsePrefix(a.String())
			peer := prefix.Addr().Next()
			if !prefix.Contains(peer) || !peer.Is4() {
				continue
			}
			if got, err := InterfaceFor(netip.AddrPortFrom(peer, 9).String()); got != i.Name || err != nil {
				t.Errorf("InterfaceFor(%s) = %q, %v, want %q", peer, got, err, i.Name)
			}
		}
	}
}

func TestInterfaceForInvalidPeer(t *testing.T) {
	for _, peer := range []netip.Addr{{}, netip.IPv4Unspecified(), netip.IPv6Unspecified()} {
		if got, err := InterfaceFor(netip.AddrPortFrom(peer, 9).String()); err == nil {
			t.Errorf("InterfaceFor(%s) = %q, want an error", peer, got)
		}
	}
}
