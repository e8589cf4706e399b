package usage

import (
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"kvlab/metrics"
)

// Sockets adds up what the TCP connections that end have carried, as the kernel tells of each when
// it frees it: linux/sock_diag.h, SKNLGRP_INET_TCP_DESTROY, of one network namespace. Safe for
// concurrent use.
type Sockets struct {
	file  *os.File
	of    func(local, remote netip.AddrPort) bool
	ended chan struct{} // closed when no more is read

	mu     sync.Mutex
	all    metrics.Carried // guarded by mu
	missed error           // guarded by mu
	last   netip.AddrPort  // of the connection that Settled makes; guarded by mu
	told   chan struct{}   // closed at the end of that connection
}

const (
	destroyedTCP = 1       // SKNLGRP_INET_TCP_DESTROY
	infoOf       = 2       // INET_DIAG_INFO in linux/inet_diag.h: a tcp_info
	diagLength   = 72      // of an inet_diag_msg
	queueBytes   = 4 << 20 // for some ten thousand connections that end at the same time
)

// WatchSockets begins to add up the ends of connections that of accepts. Its error says why the
// kernel does not tell.
func WatchSockets(of func(local, remote netip.AddrPort) bool) (*Sockets, error) {
	fd, err := unix.Socket(unix.AF_NETLINK, unix.SOCK_RAW|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, unix.NETLINK_SOCK_DIAG)
	if err != nil {
		return nil, fmt.Errorf("ask for the ends of connections: %w", err)
	}
	_ = unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_RCVBUF, queueBytes) // less is a queue, too: a loss is told
	if err := unix.Bind(fd, &unix.SockaddrNetlink{Family: unix.AF_NETLINK, Groups: 1 << (destroyedTCP - 1)}); err != nil {
		return nil, fmt.Errorf("ask for the ends of connections: %w", errors.Join(err, unix.Close(fd)))
	}
	s := &Sockets{file: os.NewFile(uintptr(fd), "sock_diag"), of: of, ended: make(chan struct{})}
	go s.read()
	return s, nil
}

// read reads until the file is closed.
func (s *Sockets) read() {
	defer close(s.ended)
	buffer := make([]byte, 64<<10)
	for {
		n, err := s.file.Read(buffer)
		if err != nil {
			s.mu.Lock()
			s.missed = err // of a closed file, when nobody asks any more
			s.mu.Unlock()
			return
		}
		for rest := buffer[:n]; len(rest) >= unix.NLMSG_HDRLEN; {
			length := int(binary.NativeEndian.Uint32(rest))
			if length < unix.NLMSG_HDRLEN || length > len(rest) {
				break
			}
			s.add(rest[unix.NLMSG_HDRLEN:length])
			rest = rest[min(len(rest), (length+3)&^3):]
		}
	}
}

// add adds the end of one connection: an inet_diag_msg and its attributes.
func (s *Sockets) add(text []byte) {
	if len(text) < diagLength {
		return
	}
	local, remote := addressOf(text[0], text[4:6], text[8:24]), addressOf(text[0], text[6:8], text[24:40])
	s.mu.Lock()
	defer s.mu.Unlock()
	if local == s.last {
		close(s.told)
		s.last = netip.AddrPort{}
	}
	if remote.Port() == 0 || !s.of(local, remote) { // a listener has no peer
		return
	}
	s.all.Connections++
	unread, unsent := binary.NativeEndian.Uint32(text[56:]), binary.NativeEndian.Uint32(text[60:])
	s.all.Unread += uint64(unread - min(unread, 1)) // a FIN is one of them, on either side
	s.all.Unsent += uint64(unsent - min(unsent, 1))
	for rest := text[diagLength:]; len(rest) >= 4; {
		length := int(binary.NativeEndian.Uint16(rest))
		if length < 4 || length > len(rest) {
			return
		}
		if info := rest[4:length]; binary.NativeEndian.Uint16(rest[2:]) == infoOf && len(info) >= 160 {
			s.all.Sent += binary.NativeEndian.Uint64(info[120:])     // tcpi_bytes_acked
			s.all.Received += binary.NativeEndian.Uint64(info[128:]) // tcpi_bytes_received
			s.all.Segments += uint64(binary.NativeEndian.Uint32(info[152:]))
		}
		rest = rest[min(len(rest), (length+3)&^3):]
	}
}

// addressOf returns the address and port of an inet_diag_sockid.
func addressOf(family byte, port, addr []byte) netip.AddrPort {
	ip, _ := netip.AddrFromSlice(addr)
	if family == unix.AF_INET {
		ip, _ = netip.AddrFromSlice(addr[:4])
	}
	return netip.AddrPortFrom(ip.Unmap(), binary.BigEndian.Uint16(port))
}

// Carried returns what has ended so far; nil if the kernel did not tell of all.
func (s *Sockets) Carried() *metrics.Carried {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.missed != nil {
		return nil
	}
	return new(s.all)
}

// quiet is how long the kernel tells of no more, when Settled believes that it has told of all:
// each processor tells of its connections in their order.
const quiet = 50 * time.Millisecond

// Settled returns what the connections of processes that have ended have carried; nil if the
// kernel does not tell of all within most. A busy machine tells late: it has told of them when it
// tells of a connection that ended after them, which Settled makes.
func (s *Sockets) Settled(most time.Duration) *metrics.Carried {
	s.told = make(chan struct{})
	if err := s.endOne(); err != nil {
		return nil
	}
	select {
	case <-s.told:
	case <-time.After(most):
		return nil
	}
	for last := s.Carried(); ; {
		time.Sleep(quiet)
		now := s.Carried()
		if now == nil || last == nil || *now == *last {
			return now
		}
		last = now
	}
}

// endOne makes a connection of this process to itself, and ends it.
func (s *Sockets) endOne() error {
	listener, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		return err
	}
	defer listener.Close()
	conn, err := net.Dial("tcp4", listener.Addr().String())
	if err != nil {
		return err
	}
	defer conn.Close()
	peer, err := listener.Accept()
	if err != nil {
		return err
	}
	s.mu.Lock()
	s.last = conn.LocalAddr().(*net.TCPAddr).AddrPort()
	s.mu.Unlock()
	return peer.Close()
}

// Close ends the reading.
func (s *Sockets) Close() error {
	err := s.file.Close()
	<-s.ended
	return err
}
