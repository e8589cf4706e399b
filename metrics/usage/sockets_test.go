package usage

import (
	"io"
	"net"
	"net/netip"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// The kernel tells how many bytes a connection carried, and how many nobody read, to the byte.
func TestSockets(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	at := l.Addr().(*net.TCPAddr).AddrPort()
	s, err := WatchSockets(func(_, remote netip.AddrPort) bool { return remote == at })
	if err != nil {
		t.Skip(err)
	}
	defer s.Close()
	const sent, read, unread = 1000, 300, 4700
	for range 3 {
		client, err := net.Dial("tcp", l.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		server, err := l.Accept()
		if err != nil {
			t.Fatal(err)
		}
		_, _ = client.Write(make([]byte, sent))
		_, _ = io.ReadFull(server, make([]byte, sent))
		_, _ = server.Write(make([]byte, read))
		_, _ = io.ReadFull(client, make([]byte, read))
		_, _ = server.Write(make([]byte, unread))
		for waits := 0; waits < 1000 && pending(client) < unread; waits++ {
			time.Sleep(time.Millisecond)
		}
		client.Close()
		server.Close()
	}
	got := s.Settled(10 * time.Second)
	if got == nil {
		t.Fatal("the kernel tells of no end within 10 s")
	}
	// An acknowledged SYN counts as a byte.
	if got.Connections != 3 || got.Received != 3*(read+unread) || got.Unread-3*(unread-1) > 3 || got.Sent-3*sent > 3 || got.Segments < 6 {
		t.Errorf("%+v", *got)
	}
}

// pending returns the bytes of a connection that wait for a reader (tcp(7), SIOCINQ).
func pending(conn net.Conn) (n int) {
	raw, err := conn.(*net.TCPConn).SyscallConn()
	if err == nil {
		_ = raw.Control(func(fd uintptr) { n, _ = unix.IoctlGetInt(int(fd), unix.TIOCINQ) })
	}
	return n
}
