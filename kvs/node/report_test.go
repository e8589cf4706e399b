package node

import (
	"context"
	"io"
	"net"
	"testing"
	"time"

	"kvlab/metrics"
)

// The window's bytes are those of its intervals, however long the report of the last takes.
func TestReportIsAfterTheWindow(t *testing.T) {
	t.Parallel()
	l, stdin, stdout := newLauncher(t)
	node, _ := Controlled(context.Background(), stdin, stdout)
	var inWindow time.Duration
	slow := func(i metrics.Interval, _ metrics.Usage) error {
		if i.Phase == metrics.Window {
			inWindow += time.Duration(i.LengthS * float64(time.Second))
			time.Sleep(time.Second)
		}
		return nil
	}
	r, err := NewReporter(node, func() metrics.Counts { return metrics.Counts{} }, slow)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := r.SetPeer("127.0.0.1:1"); err != nil {
		t.Fatal(err)
	}
	go func() {
		for range l.events {
		}
	}()
	enter := func(phase metrics.Phase) {
		if err := r.Enter(phase); err != nil {
			t.Fatal(err)
		}
	}
	enter(metrics.Window)
	const bytes = 4 << 20
	carry(t, bytes)
	time.Sleep(5 * shortest)
	enter(metrics.Drain)
	if got := r.Window().Usage.RxBytesPerS.Avg * inWindow.Seconds(); got < bytes/2 {
		t.Errorf("the interface received %.0f bytes in a window of %v, want %d", got, inWindow, bytes)
	}
}

// carry sends n bytes over loopback.
func carry(t *testing.T, n int64) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	go func() {
		conn, err := net.Dial("tcp", listener.Addr().String())
		if err != nil {
			return
		}
		defer conn.Close()
		conn.Write(make([]byte, n))
	}()
	conn, err := listener.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if got, err := io.Copy(io.Discard, conn); err != nil || got != n {
		t.Fatalf("received %d bytes, %v", got, err)
	}
}
