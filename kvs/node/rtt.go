package node

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

const (
	// dialTimeout bounds one handshake. A lost SYN is sent again after one second and
	// after two more (RFC 6298, section 2): on a link that loses 5 % of packets each
	// way, one handshake in 1000 fails.
	dialTimeout = 4 * time.Second
	// dials is the maximum number of handshakes with one peer.
	dials = 5
)

// dial measures the round-trip times to all peers concurrently.
func dial(ctx context.Context, peers []string) []RTT {
	rtts := make([]RTT, len(peers))
	var all sync.WaitGroup
	for i, peer := range peers {
		all.Go(func() { rtts[i] = minRTT(ctx, peer) })
	}
	all.Wait()
	return rtts
}

// minRTT returns the smallest of several round-trip times to a peer.
func minRTT(ctx context.Context, peer string) RTT {
	var rtt RTT
	for n := range dials {
		us, err := handshake(ctx, peer)
		switch {
		case err != nil && n == 0:
			return RTT{Error: err.Error()}
		case err != nil:
			return rtt
		case n == 0 || us < rtt.US:
			rtt.US = us
		}
	}
	return rtt
}

// handshake connects to peer and returns the kernel's measurement of the handshake's
// round trip, in microseconds (tcpi_rtt of TCP_INFO, tcp(7)): it excludes this process's
// scheduling. The connection is reset.
func handshake(ctx context.Context, peer string) (us float64, err error) {
	dialer := net.Dialer{Timeout: dialTimeout}
	conn, err := dialer.DialContext(ctx, "tcp", peer)
	if err != nil {
		return 0, err // it names the address
	}
	socket := conn.(*net.TCPConn)
	defer func() { err = errors.Join(err, socket.SetLinger(0), socket.Close()) }()
	raw, err := socket.SyscallConn()
	if err != nil {
		return 0, fmt.Errorf("measure the way to %s: %w", peer, err)
	}
	var info *unix.TCPInfo
	var infoErr error
	if err := raw.Control(func(fd uintptr) {
		info, infoErr = unix.GetsockoptTCPInfo(int(fd), syscall.IPPROTO_TCP, unix.TCP_INFO)
	}); err != nil || infoErr != nil {
		return 0, fmt.Errorf("measure the way to %s: %w", peer, errors.Join(err, infoErr))
	}
	return float64(info.Rtt), nil
}
