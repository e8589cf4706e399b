package usage

import (
	"fmt"
	"net"
	"net/netip"
	"slices"
)

// InterfaceFor returns the name of the network interface that carries this machine's traffic
// to the peer at an address, a host and a port. It asks the kernel: connecting a UDP socket
// makes it choose a route and with it a local address (ip(7), "an address is chosen by the
// routing table"), and sends nothing. Traffic to one of the machine's own addresses is carried
// by the loopback interface, whatever interface holds the address.
//
// It is an error if there is no route to peer, or if several interfaces hold
// the local address, because then the address does not tell which one it is.
func InterfaceFor(address string) (string, error) {
	resolved, err := net.ResolveUDPAddr("udp", address)
	if err != nil {
		return "", fmt.Errorf("find the interface towards %s: %w", address, err)
	}
	peer := resolved.AddrPort().Addr().Unmap()
	if !peer.IsValid() || peer.IsUnspecified() {
		return "", fmt.Errorf("find the interface towards %s: not the address of a peer", peer)
	}
	local, err := localAddress(peer)
	if err != nil {
		return "", fmt.Errorf("find the interface towards %s: %w", peer, err)
	}
	if local.WithZone("") == peer.WithZone("") {
		local = netip.IPv6Loopback()
	}
	found, err := Holders(local)
	if err != nil {
		return "", err
	}
	if len(found) != 1 {
		return "", fmt.Errorf("find the interface towards %s: local address %s is held by %d interfaces %v, want one", peer, local, len(found), found)
	}
	return found[0], nil
}

// localAddress returns the source address that the kernel picks towards peer.
func localAddress(peer netip.Addr) (netip.Addr, error) {
	const anyPort = 9 // discard (RFC 863); a connected UDP socket sends nothing by itself
	socket, err := net.DialUDP("udp", nil, net.UDPAddrFromAddrPort(netip.AddrPortFrom(peer, anyPort)))
	if err != nil {
		return netip.Addr{}, err
	}
	defer socket.Close()
	return socket.LocalAddr().(*net.UDPAddr).AddrPort().Addr().Unmap(), nil
}

// Holders returns the names of the interfaces that hold the address local. The zone of a
// link-local address names the interface. The loopback interface holds all of 127/8.
func Holders(local netip.Addr) (names []string, err error) {
	interfaces, err := net.Interfaces()
	for _, i := range interfaces {
		addresses, _ := i.Addrs() // none of an interface that has just gone
		holds := slices.ContainsFunc(addresses, func(a net.Addr) bool {
			prefix, err := netip.ParsePrefix(a.String())
			return err == nil && prefix.Addr().Unmap() == local.WithZone("")
		})
		if local.IsLoopback() && i.Flags&net.FlagLoopback != 0 || holds && (local.Zone() == "" || local.Zone() == i.Name) {
			names = append(names, i.Name)
		}
	}
	return names, err
}
