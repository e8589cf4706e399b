package wire

import (
	"context"
	"fmt"
	"net"
	"strings"
	"syscall"
	"testing"

	"kvlab/kvs/engine"
	"kvlab/kvs/service"
)

// Sizes that a socket cannot have are refused; others are set on both ends.
func TestSocketBuffer(t *testing.T) {
	for _, bytes := range []int{-1, maxSocketBuffer + 1} {
		if err := CheckSocketBuffer(bytes); err == nil || !strings.HasPrefix(err.Error(), fmt.Sprintf("-socket-buffer %d: want", bytes)) {
			t.Errorf("%d: error %v", bytes, err)
		}
	}
	for _, bytes := range []int{0, 1, 64 << 10, maxSocketBuffer} {
		if err := CheckSocketBuffer(bytes); err != nil {
			t.Error(err)
		}
	}
	for _, bytes := range []int{32 << 10, 128 << 10} {
		if client, server := granted(t, bytes); client != [2]int{2 * bytes, 2 * bytes} || server != client {
			// The kernel doubles what it is asked for (socket(7)).
			t.Errorf("-socket-buffer %d: the client's socket has %d bytes, the server's %d", bytes, client, server)
		}
	}
}

// granted connects with sockets of a size, and returns the receive and the send
// buffers that the client's and the server's sockets have.
func granted(t *testing.T, bytes int) (client, server [2]int) {
	t.Helper()
	options := Options{Hello: Hello{Node: "node0", Codec: "binary"}, SocketBuffer: bytes}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	dialed := make(chan error, 1)
	var near net.Conn
	go func() {
		var err error
		near, _, err = connect(context.Background(), listener.Addr().String(), options)
		dialed <- err
	}()
	far, err := listener.Accept()
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- serve(far, options, service.New(engine.NewMutex())) }()
	if err := <-dialed; err != nil {
		t.Fatal(err)
	}
	client, server = buffersOf(t, near), buffersOf(t, far)
	near.Close()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	return client, server
}

func buffersOf(t *testing.T, conn net.Conn) (sizes [2]int) {
	t.Helper()
	raw, err := conn.(*net.TCPConn).SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	err = raw.Control(func(fd uintptr) {
		for i, option := range []int{syscall.SO_RCVBUF, syscall.SO_SNDBUF} {
			if sizes[i], err = syscall.GetsockoptInt(int(fd), syscall.SOL_SOCKET, option); err != nil {
				t.Error(err)
			}
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	return sizes
}
