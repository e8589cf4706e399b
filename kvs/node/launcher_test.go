package node

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"testing"
	"time"
)

// launcher is the other end of a node's pipes.
type launcher struct {
	commands *io.PipeWriter
	encoder  *json.Encoder
	events   chan Event // closed when the node's output ends
}

// newLauncher returns a launcher and the streams of the node it leads.
func newLauncher(t *testing.T) (l *launcher, stdin *io.PipeReader, stdout *io.PipeWriter) {
	stdin, commands := io.Pipe()
	output, stdout := io.Pipe()
	l = &launcher{commands: commands, encoder: json.NewEncoder(commands), events: make(chan Event, 100)}
	go func() {
		defer close(l.events)
		for lines := json.NewDecoder(output); ; {
			var e Event
			if lines.Decode(&e) != nil {
				return
			}
			l.events <- e
		}
	}()
	t.Cleanup(func() {
		commands.Close()
		stdout.Close()
	})
	return l, stdin, stdout
}

func (l *launcher) send(t *testing.T, c Command) {
	t.Helper()
	if err := l.encoder.Encode(c); err != nil {
		t.Fatal(err)
	}
}

// next returns the node's next event.
func (l *launcher) next(t *testing.T) Event {
	t.Helper()
	select {
	case e, ok := <-l.events:
		if !ok {
			t.Fatal("the node's output has ended")
		}
		return e
	case <-time.After(2 * time.Minute):
		t.Fatal("no event comes")
	}
	return Event{}
}

// silent fails the test if an event has come.
func (l *launcher) silent(t *testing.T) {
	t.Helper()
	select {
	case e, ok := <-l.events:
		if ok {
			t.Errorf("an event came: %+v", e)
		}
	default:
	}
}

// ended waits for a context's end and returns its cause.
func ended(t *testing.T, ctx context.Context) error {
	t.Helper()
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-time.After(2 * time.Minute):
		t.Fatal("the context does not end")
		return nil
	}
}

// brokenWriter fails from its second write on.
type brokenWriter struct{ writes int }

var errBroken = errors.New("broken pipe")

func (w *brokenWriter) Write(b []byte) (int, error) {
	if w.writes++; w.writes > 1 {
		return 0, errBroken
	}
	return len(b), nil
}
