package wire

import (
	"errors"
	"fmt"
	"net"
	"time"
)

// Link is how one end of a connection is used.
type Link struct {
	SocketBuffer int  // bytes of the kernel's send and receive buffers each; 0 leaves them to it
	Shared       bool // of a client: several goroutines send at once, and their frames go out together

	// CallTimeout, of a client, is how long a call may take until its
	// connection is closed and every call on it fails with ErrTimeout; 0 is for
	// ever. It may be exceeded by a sixteenth or 100 ms, whichever is less.
	CallTimeout time.Duration
}

// MaxSocketBuffer is the largest SocketBuffer.
const MaxSocketBuffer = 1 << 30

// CheckSocketBuffer returns an error that names the flag unless bytes is right.
func CheckSocketBuffer(bytes int) error {
	if bytes < 0 || bytes > MaxSocketBuffer {
		return fmt.Errorf("-socket-buffer %d: want 1 to %d bytes, or 0 for the kernel's own choice", bytes, MaxSocketBuffer)
	}
	return nil
}

// layer puts what the link asks for over a client's connection, and returns the
// top and where to end it.
func (l Link) layer(conn net.Conn) (net.Conn, *mortal) {
	below := &mortal{Conn: conn}
	if l.Shared {
		return newCombiner(below), below
	}
	return below, below
}

// apply sets the socket's buffers. The kernel cuts sizes over net.core.rmem_max
// and wmem_max (socket(7)).
func (l Link) apply(conn net.Conn) error {
	tcp, ok := conn.(*net.TCPConn)
	if !ok || l.SocketBuffer == 0 {
		return nil
	}
	if err := errors.Join(tcp.SetReadBuffer(l.SocketBuffer), tcp.SetWriteBuffer(l.SocketBuffer)); err != nil {
		return fmt.Errorf("socket buffers of %d bytes: %w", l.SocketBuffer, err)
	}
	return nil
}
