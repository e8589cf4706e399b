package server

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/bits"
	"net"
	"reflect"
	"strings"
	"testing"
	"time"

	"kvlab/kvs"
	"kvlab/kvs/node"
	"kvlab/kvs/route"
	"kvlab/kvs/wire"
	"kvlab/metrics"
)

// led is a whole server under a launcher that the test plays.
type led struct {
	commands *json.Encoder
	stdin    io.Closer
	events   chan node.Event
	exited   chan int
	stderr   bytes.Buffer

	intervals metrics.Counts // the sum of those that next has passed
}

func lead(t *testing.T, args ...string) *led {
	t.Helper()
	return leadProgram(t, Program(nil), args...)
}

func leadProgram(t *testing.T, program node.Program, args ...string) *led {
	t.Helper()
	stdin, commands := io.Pipe()
	output, stdout := io.Pipe()
	s := &led{commands: json.NewEncoder(commands), stdin: commands, events: make(chan node.Event, 1000), exited: make(chan int, 1)}
	go func() {
		defer close(s.events)
		for lines := json.NewDecoder(output); ; {
			var e node.Event
			if lines.Decode(&e) != nil {
				return
			}
			s.events <- e
		}
	}()
	go func() {
		status := program.Main([]string{"-control"}, stdin, stdout, &s.stderr)
		stdin.Close()
		stdout.Close()
		s.exited <- status
	}()
	t.Cleanup(func() { commands.Close() })
	s.command(t, node.Command{Do: node.Start, Args: args, Token: "secret"})
	return s
}

func (s *led) command(t *testing.T, c node.Command) {
	t.Helper()
	if err := s.commands.Encode(c); err != nil {
		t.Fatal(err)
	}
}

// next returns the next event that is wanted, passing others over.
func (s *led) next(t *testing.T, wanted func(node.Event) bool) node.Event {
	t.Helper()
	deadline := time.After(2 * time.Minute)
	for {
		select {
		case e, ok := <-s.events:
			if !ok {
				t.Fatalf("the server has left: %s", &s.stderr)
			}
			if e.Record != nil && e.Record.Interval != nil {
				s.intervals = s.intervals.Add(e.Record.Interval.Counts)
			}
			if wanted(e) {
				return e
			}
		case <-deadline:
			t.Fatal("the event does not come")
		}
	}
}

func is(event string) func(node.Event) bool {
	return func(e node.Event) bool { return e.Event == event }
}

func intervalOf(phase metrics.Phase) func(node.Event) bool {
	return func(e node.Event) bool {
		return e.Record != nil && e.Record.Interval != nil && e.Record.Interval.Phase == phase
	}
}

// A server under a launcher: it says when it listens, counts each client's
// operations, those of the window apart, and reports all when it is told to stop.
func TestServerUnderLauncher(t *testing.T) {
	t.Parallel()
	s := lead(t, "-node", "node0", "-port", "0", "-engine", "mutex")
	addr := s.next(t, is(node.Ready)).Addr
	connect := func(name string) *wire.Client {
		client, server, err := wire.Dial(context.Background(), addr, wire.Options{Hello: wire.Hello{Node: name, Codec: "binary"}, Token: "secret"})
		if err != nil {
			t.Fatal(err)
		}
		if server.Node != "node0" {
			t.Errorf("the server's name is %q", server.Node)
		}
		return client
	}
	a, b := connect("node1"), connect("node2")
	defer a.Close()
	defer b.Close()
	for i := range 3 {
		put(t, a, fmt.Sprint(i))
	}
	s.command(t, node.Command{Do: node.Phase, Phase: metrics.Window})
	s.next(t, intervalOf(metrics.Window)) // it is open
	for i := range 5 {
		put(t, b, fmt.Sprint(i))
	}
	s.next(t, intervalOf(metrics.Window)) // the window ends with an interval
	s.command(t, node.Command{Do: node.Phase, Phase: metrics.Drain})
	s.next(t, intervalOf(metrics.Drain))
	put(t, a, "late")
	s.command(t, node.Command{Do: node.Stop})
	e := s.next(t, func(e node.Event) bool { return e.Record != nil && e.Record.Summary != nil })
	summary := e.Record.Summary
	if s.intervals != summary.Total {
		t.Errorf("the intervals sum to %+v, the summary to %+v", s.intervals, summary.Total)
	}
	plain := func(keys ...string) []metrics.Sessions {
		sum := uint64(0)
		for _, key := range keys {
			sum += bits.RotateLeft64(route.Word([]byte(key)), int(kvs.Put))
		}
		return []metrics.Sessions{{Protocol: metrics.Protocol{Codec: "binary"}, Ops: []uint64{uint64(len(keys))}, Keys: []uint64{sum}}}
	}
	wantPeers := []metrics.PeerCounts{{Peer: "node1", Counts: metrics.Counts{Puts: 4, Calls: 4}, Sessions: plain("0", "1", "2", "late")}, {Peer: "node2", Counts: metrics.Counts{Puts: 5, Calls: 5}, Sessions: plain("0", "1", "2", "3", "4")}}
	if e.Record.Node != "node0" || e.Record.Role != metrics.Server || summary.Total.Puts != 9 || !reflect.DeepEqual(summary.Peers, wantPeers) {
		t.Errorf("%s %s: total %+v, peers %+v", e.Record.Node, e.Record.Role, summary.Total, summary.Peers)
	}
	if summary.InWindow != wantPeers[1].Counts || summary.WindowLengthS <= 0 || summary.Usage.DataInterface != "lo" {
		t.Errorf("in the window of %v s on %q: %+v", summary.WindowLengthS, summary.Usage.DataInterface, summary.InWindow)
	}
	s.next(t, is(node.Done))
	if status := <-s.exited; status != 0 {
		t.Errorf("status %d, stderr %q", status, &s.stderr)
	}
}

// What a server cannot do is its last event, and its exit status.
func TestServerErrors(t *testing.T) {
	busy := lead(t, "-port", "0")
	addr := busy.next(t, is(node.Ready)).Addr
	tests := []struct {
		name   string
		args   []string
		then   *node.Command
		usage  bool
		status int
		want   string
	}{
		{"port in use", []string{"-listen", addr}, nil, false, 1, addr + ": bind: address already in use"},
		{"wrong flag", []string{"-engine", "redis"}, nil, true, 2, `-engine "redis"`},
		{"a client's command", []string{"-port", "0"}, &node.Command{Do: node.Load}, false, 1, `unknown command "load" from the launcher`},
		{"a window without clients", []string{"-port", "0"}, &node.Command{Do: node.Phase, Phase: metrics.Window}, false, 1, "no peer has connected"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			s := lead(t, test.args...)
			if test.then != nil {
				s.command(t, *test.then)
			}
			e := s.next(t, is(node.Error))
			if e.Usage != test.usage || !strings.Contains(e.Text, test.want) {
				t.Errorf("%+v, want %q", e, test.want)
			}
			if status := <-s.exited; status != test.status {
				t.Errorf("status %d, want %d", status, test.status)
			}
		})
	}
}

// free returns a port that nobody listens on.
func free(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	_, port, _ := net.SplitHostPort(l.Addr().String())
	return port
}
