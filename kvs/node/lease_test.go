package node

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"testing"
	"time"
)

// attached returns a node with a launcher that keeps its pipes open.
func attached(t *testing.T) (*launcher, *Node, context.Context) {
	t.Helper()
	l, stdin, stdout := newLauncher(t)
	node, ctx := Controlled(context.Background(), stdin, stdout)
	return l, node, ctx
}

// A lease that runs out ends the node although its standard input is open.
func TestLeaseRunsOut(t *testing.T) {
	for _, test := range []struct {
		lease Lease
		want  error
	}{
		{Lease{LifetimeS: 0.05}, errLifetime},
		{Lease{SilenceS: 0.05}, errSilence},
		{Lease{LifetimeS: 60, SilenceS: 0.05}, errSilence},
		{Lease{LifetimeS: 0.05, SilenceS: 60}, errLifetime},
	} {
		l, _, ctx := attached(t)
		l.send(t, Command{Do: Start, Lease: &test.lease})
		if cause := ended(t, ctx); !errors.Is(cause, test.want) || !strings.HasSuffix(cause.Error(), ": 0.05 s") {
			t.Errorf("%+v: the context's cause is %v, want %v", test.lease, cause, test.want)
		}
	}
}

// Programs see nothing of the beats.
func TestBeatsAreNoCommands(t *testing.T) {
	l, node, ctx := attached(t)
	for _, c := range []Command{{Do: Start}, {Do: Beat}, {Do: Beat, Lease: &Lease{SilenceS: 0.05}}, {Do: Go}} {
		l.send(t, c)
	}
	for _, want := range []string{Start, Go} {
		if _, err := node.Await(ctx, want); err != nil {
			t.Error(err)
		}
	}
	if cause := ended(t, ctx); !errors.Is(cause, errSilence) {
		t.Errorf("the context's cause is %v, want errSilence", cause)
	}
}

// The newest lease holds, a command without one changes nothing, and an empty
// one takes both limits away.
func TestLeaseIsRenewed(t *testing.T) {
	var cause error
	tenant := &leaseTimer{end: func(err error) { cause = err }}
	tenant.renew(&Lease{LifetimeS: 3600, SilenceS: 3600})
	lifetime, silence := tenant.lifetime, tenant.silence
	tenant.renew(nil)
	if tenant.lifetime != lifetime || tenant.silence == silence {
		t.Error("a command without a lease must put silence off, and not the lifetime's end")
	}
	tenant.renew(&Lease{LifetimeS: 7200})
	if lifetime.Stop() || tenant.lifetime == nil || tenant.silence != nil {
		t.Error("the older lease still counts")
	}
	tenant.renew(&Lease{})
	if tenant.lifetime != nil || tenant.silence != nil || cause != nil {
		t.Errorf("an empty lease leaves a limit, cause %v", cause)
	}
}

// A node whose lease has run out says so, as the launcher may still be there.
func TestMainSaysThatTheLeaseRanOut(t *testing.T) {
	program := echo(func(ctx context.Context, node *Node, _, _ string) error {
		_, err := node.Next(ctx)
		return err
	})
	events, _, status, _ := lead(t, program, Command{Do: Start, Lease: &Lease{LifetimeS: 0.05}})
	if status != 1 || len(events) != 1 || events[0].Event != Error || events[0].Text != errLifetime.Error()+": 0.05 s" {
		t.Errorf("status %d, events %+v", status, events)
	}
}

// A program that does not stop, or is stuck in a pipe without a reader, does
// not keep its process from ending.
func TestMainLeavesStuckWorkBehind(t *testing.T) {
	t.Parallel()
	begun, stuck := make(chan struct{}), make(chan struct{})
	t.Cleanup(func() { close(stuck) })
	program := echo(func(context.Context, *Node, string, string) error { close(begun); <-stuck; return nil })
	l, stdin, stdout := newLauncher(t)
	var stderr bytes.Buffer
	exited := make(chan int, 1)
	go func() { exited <- program.Main([]string{"-control"}, stdin, stdout, &stderr) }()
	l.send(t, Command{Do: Start})
	<-begun
	l.commands.Close()
	select {
	case status := <-exited:
		if status != 1 || !strings.Contains(stderr.String(), errControllerGone.Error()+"; the work did not stop within") {
			t.Errorf("status %d, stderr %q", status, &stderr)
		}
	case <-time.After(2 * time.Minute):
		t.Fatal("Main does not return")
	}
}

// A launcher that asks for them finds every goroutine's stack in the log.
func TestDump(t *testing.T) {
	begun, asked := make(chan struct{}), make(chan struct{})
	program := echo(func(ctx context.Context, node *Node, _, _ string) error {
		standAside(begun, asked)
		return nil
	})
	l, stdin, stdout := newLauncher(t)
	exited := make(chan int, 1)
	go func() { exited <- program.Main([]string{"-control"}, stdin, stdout, &bytes.Buffer{}) }()
	l.send(t, Command{Do: Start})
	<-begun
	l.send(t, Command{Do: Dump})
	var log strings.Builder
	e := l.next(t)
	for ; e.Event == Log; e = l.next(t) {
		log.WriteString(e.Text + "\n")
	}
	if e.Event != Dumped || !strings.Contains(log.String(), "node.standAside(") || strings.Count(log.String(), "\ngoroutine ") < 2 {
		t.Errorf("%+v after\n%s", e, log.String())
	}
	close(asked)
	if status := <-exited; status != 0 {
		t.Errorf("status %d", status)
	}
}

// standAside is a name to look for in a dump.
//
//go:noinline
func standAside(begun, until chan struct{}) {
	close(begun)
	<-until
}
