package virtual

import (
	"fmt"
	"io"
	"net"
	"os"
	"runtime"
	"time"

	"golang.org/x/sys/unix"
)

// transfer is what came through a link, and how long it took.
type transfer struct {
	Bytes   int64
	Seconds float64
}

// transferBetween sends some megabytes from one host's data address to
// another's over TCP, from the first byte sent to the last one received.
func transferBetween(from, to *host) (transfer, error) {
	const size = 4 << 20
	var listener net.Listener
	err := to.inNetwork(func() (err error) {
		listener, err = net.Listen("tcp", net.JoinHostPort(DataAddress(to.index), "0"))
		return err
	})
	if err != nil {
		return transfer{}, err
	}
	defer listener.Close()
	var out net.Conn
	err = from.inNetwork(func() (err error) {
		out, err = net.DialTimeout("tcp", listener.Addr().String(), time.Minute)
		return err
	})
	if err != nil {
		return transfer{}, err
	}
	defer out.Close()
	in, err := listener.Accept()
	if err != nil {
		return transfer{}, err
	}
	defer in.Close()
	if peer := in.RemoteAddr().(*net.TCPAddr).IP.String(); peer != DataAddress(from.index) {
		return transfer{}, fmt.Errorf("%s connects from %s", from.name, peer)
	}
	begun := time.Now()
	go func() {
		out.Write(make([]byte, size))
		out.Close()
	}()
	n, err := io.Copy(io.Discard, in)
	return transfer{n, time.Since(begun).Seconds()}, err
}

// inNetwork calls do on a thread in the host's network namespace. Processes that do starts
// are in it too.
func (h *host) inNetwork(do func() error) error {
	namespace, err := os.Open(fmt.Sprintf("/proc/%d/ns/net", h.pid()))
	if err != nil {
		return err
	}
	defer namespace.Close()
	done := make(chan error)
	go func() {
		// Never unlocked, so that the thread ends here and runs no other goroutine.
		runtime.LockOSThread()
		err := unix.Setns(int(namespace.Fd()), unix.CLONE_NEWNET)
		if err == nil {
			err = do()
		}
		done <- err
	}()
	return <-done
}
