package node

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"kvlab/metrics"
)

func TestCommandsComeInOrder(t *testing.T) {
	l, stdin, stdout := newLauncher(t)
	node, ctx := Controlled(context.Background(), stdin, stdout)
	if !node.Controlled() {
		t.Error("a node with a launcher says it has none")
	}
	sent := []Command{
		{Do: Start, Args: []string{"-node", "node0", "-key-prefix", "a \"b\"\nc"}, Token: "secret"},
		{Do: Load},
		{Do: Phase, Phase: metrics.Window},
		{Do: Stop},
	}
	for _, c := range sent {
		l.send(t, c)
	}
	for _, want := range sent {
		got, err := node.Await(ctx, want.Do)
		if err != nil || got.Do != want.Do || got.Phase != want.Phase || got.Token != want.Token || !slices.Equal(got.Args, want.Args) {
			t.Errorf("Await(%s) = %+v, %v; want %+v", want.Do, got, err, want)
		}
	}
}

// A barrier opens for its own command only.
func TestAwaitAnotherCommand(t *testing.T) {
	l, stdin, stdout := newLauncher(t)
	node, ctx := Controlled(context.Background(), stdin, stdout)
	l.send(t, Command{Do: Go})
	if _, err := node.Await(ctx, Load); err == nil || err.Error() != `command "go" from the launcher, want "load"` {
		t.Errorf("error %v, want one that names both commands", err)
	}
}

// A barrier stays shut until its command has come.
func TestAwaitWaits(t *testing.T) {
	l, stdin, stdout := newLauncher(t)
	node, ctx := Controlled(context.Background(), stdin, stdout)
	opened := make(chan error, 1)
	go func() {
		_, err := node.Await(ctx, Load)
		opened <- err
	}()
	select {
	case err := <-opened:
		t.Fatalf("opened before the command, with %v", err)
	case <-time.After(20 * time.Millisecond):
	}
	l.send(t, Command{Do: Load})
	if err := <-opened; err != nil {
		t.Error(err)
	}
}

// What is no command ends the node as well, and its context says why.
func TestGarbageFromController(t *testing.T) {
	for _, garbage := range []string{"hello\n", `["start"]` + "\n", `{"do":"st`} {
		l, stdin, stdout := newLauncher(t)
		_, ctx := Controlled(context.Background(), stdin, stdout)
		fmt.Fprint(l.commands, garbage)
		l.commands.Close()
		if cause := ended(t, ctx); cause == nil || !strings.HasPrefix(cause.Error(), "read a command from standard input: ") {
			t.Errorf("%q: the context's cause is %v", garbage, cause)
		}
	}
}

func TestNextEndsWithContext(t *testing.T) {
	_, stdin, stdout := newLauncher(t)
	parent, cancel := context.WithCancelCause(context.Background())
	node, ctx := Controlled(parent, stdin, stdout)
	why := errors.New("interrupted")
	cancel(why)
	if _, err := node.Next(ctx); !errors.Is(err, why) {
		t.Errorf("error %v, want the cause", err)
	}
}

// By hand every barrier opens at once, nothing is sent, and the log is plain.
func TestAlone(t *testing.T) {
	var out bytes.Buffer
	node := standalone(&out)
	for _, barrier := range []string{Start, Load, Go} {
		if c, err := node.Await(context.Background(), barrier); err != nil || c.Do != barrier {
			t.Errorf("Await(%s) = %+v, %v", barrier, c, err)
		}
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := node.Next(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("Next after the context's end: %v", err)
	}
	if err := errors.Join(node.Send(Event{Event: Ready}), node.Report(metrics.Record{Summary: &metrics.Summary{}})); err != nil {
		t.Error(err)
	}
	node.Logf("%d records", 3)
	fmt.Fprint(node, "half a ", "line\n")
	if got := out.String(); got != "3 records\nhalf a line\n" {
		t.Errorf("the log is %q", got)
	}
}

// The log goes to the launcher a line at a time, however it is written.
func TestLogLines(t *testing.T) {
	l, stdin, stdout := newLauncher(t)
	node, _ := Controlled(context.Background(), stdin, stdout)
	for _, text := range []string{"a", "", "b\nc\n\nd", "e\n", "\n", "last"} {
		if n, err := node.Write([]byte(text)); n != len(text) || err != nil {
			t.Errorf("Write(%q) = %d, %v", text, n, err)
		}
	}
	node.Logf(": %d %%", 100)
	for _, want := range []string{"ab", "c", "", "de", "", "last: 100 %"} {
		if e := l.next(t); e.Event != Log || e.Text != want {
			t.Errorf("%+v, want a log event with %q", e, want)
		}
	}
	l.silent(t)
}

// A writer may use its buffer again.
func TestLogKeepsItsOwnCopy(t *testing.T) {
	l, stdin, stdout := newLauncher(t)
	node, _ := Controlled(context.Background(), stdin, stdout)
	text := []byte("first ")
	node.Write(text)
	copy(text, "XXXXXX")
	node.Write([]byte("half\n"))
	if e := l.next(t); e.Text != "first half" {
		t.Errorf("the log line is %q", e.Text)
	}
}

// Lines and events of many goroutines come whole, and each goroutine's in its
// order.
func TestConcurrentEvents(t *testing.T) {
	const goroutines, lines = 8, 50
	l, stdin, stdout := newLauncher(t)
	node, _ := Controlled(context.Background(), stdin, stdout)
	var group sync.WaitGroup
	for id := range goroutines {
		group.Go(func() {
			for i := range lines {
				node.Logf("%d %d", id, i)
				if err := node.Send(Event{Event: Ready, Addr: fmt.Sprint(id, i)}); err != nil {
					t.Error(err)
				}
			}
		})
	}
	var next [goroutines]int
	for range 2 * goroutines * lines {
		e := l.next(t)
		if e.Event != Log {
			continue
		}
		var id, i int
		if _, err := fmt.Sscanf(e.Text, "%d %d", &id, &i); err != nil || i != next[id] {
			t.Fatalf("line %q of goroutine %d, want number %d", e.Text, id, next[id])
		}
		next[id]++
	}
	group.Wait()
}

func TestReportIsSigned(t *testing.T) {
	l, stdin, stdout := newLauncher(t)
	node, _ := Controlled(context.Background(), stdin, stdout)
	node.name, node.role = "node3", metrics.Client
	before := time.Now()
	if err := node.Report(metrics.Record{Node: "forged", Interval: &metrics.Interval{Phase: metrics.Window, LengthS: 1}}); err != nil {
		t.Fatal(err)
	}
	e := l.next(t)
	if e.Event != Report || e.Record == nil {
		t.Fatalf("%+v, want a record", e)
	}
	r := e.Record
	if r.Node != "node3" || r.Role != metrics.Client || r.Interval == nil || r.Interval.Phase != metrics.Window {
		t.Errorf("the record is %+v", r)
	}
	if r.Time.Before(before) || r.Time.After(time.Now()) {
		t.Errorf("the record's time is %v", r.Time)
	}
}

// When the launcher no longer listens, every event from then on says so, and
// the log is dropped without a word.
func TestSendFails(t *testing.T) {
	_, stdin, _ := newLauncher(t)
	node, _ := Controlled(context.Background(), stdin, &brokenWriter{})
	if err := node.Send(Event{Event: Ready}); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := node.Send(Event{Event: Done}); !errors.Is(err, errBroken) || !strings.Contains(err.Error(), Done) {
			t.Errorf("error %v, want the writer's, with the event's name", err)
		}
		if n, err := node.Write([]byte("line\n")); n != 5 || err != nil {
			t.Errorf("Write = %d, %v", n, err)
		}
	}
}
