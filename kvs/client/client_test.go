package client

import (
	"bytes"
	"encoding/json"
	"io"
	"net"
	"slices"
	"strings"
	"testing"
	"time"

	"kvlab/internal/wiretest"
	"kvlab/kvs"
	"kvlab/kvs/engine"
	"kvlab/kvs/node"
	"kvlab/kvs/server"
	"kvlab/kvs/service"
	"kvlab/kvs/wire"
	"kvlab/metrics"
	"kvlab/workload"
)

// startStore returns a server for the length of one test.
func startStore(t *testing.T, token string) (addr string, e kvs.Engine, svc *service.Service) {
	t.Helper()
	e = engine.NewMutex()
	svc = service.New(e)
	s := wiretest.Start(t, func(conn net.Conn) {
		_ = server.Serve(conn, wire.Options{Hello: wire.Hello{Node: "node0", Codec: "binary"}, Token: token}, svc, server.PerConn)
	})
	return s.Addr().String(), e, svc
}

// led is a whole client under a launcher that the test plays.
type led struct {
	commands *json.Encoder
	events   chan node.Event
	exited   chan int
	stderr   bytes.Buffer
}

func lead(t *testing.T, args ...string) *led {
	t.Helper()
	stdin, commands := io.Pipe()
	output, stdout := io.Pipe()
	c := &led{commands: json.NewEncoder(commands), events: make(chan node.Event, 1000), exited: make(chan int, 1)}
	go func() {
		defer close(c.events)
		for lines := json.NewDecoder(output); ; {
			var e node.Event
			if lines.Decode(&e) != nil {
				return
			}
			c.events <- e
		}
	}()
	go func() {
		status := Program().Main([]string{"-control"}, stdin, stdout, &c.stderr)
		stdin.Close()
		stdout.Close()
		c.exited <- status
	}()
	t.Cleanup(func() { commands.Close() })
	c.command(t, node.Command{Do: node.Start, Args: args, Token: "secret"})
	return c
}

func (c *led) command(t *testing.T, command node.Command) {
	t.Helper()
	if err := c.commands.Encode(command); err != nil {
		t.Fatal(err)
	}
}

// until returns the client's milestones, phases and summary up to and with the
// event that is wanted.
func (c *led) until(t *testing.T, wanted string) (milestones []string, summary *metrics.Summary) {
	t.Helper()
	deadline := time.After(2 * time.Minute)
	for {
		select {
		case e, ok := <-c.events:
			if !ok {
				t.Fatalf("the client has left after %v: %s", milestones, &c.stderr)
			}
			switch {
			case e.Event == node.Phase:
				milestones = append(milestones, string(e.Phase))
			case e.Event == node.Report && e.Record.Summary != nil:
				summary = e.Record.Summary
				milestones = append(milestones, "summary")
			case e.Event == node.Report && e.Record.Audit != nil:
				milestones = append(milestones, "audit")
			case e.Event == node.Error:
				milestones = append(milestones, "error: "+e.Text)
			case e.Event != node.Log && e.Event != node.Report:
				milestones = append(milestones, e.Event)
			}
			if e.Event == wanted {
				return milestones, summary
			}
		case <-deadline:
			t.Fatalf("%s does not come after %v", wanted, milestones)
		}
	}
}

func checkMilestones(t *testing.T, got []string, want ...string) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("the client reports %q, want %q", got, want)
	}
}

// A client goes no further than its launcher says: it stores nothing before
// load, and measures nothing before go.
func TestClientUnderLauncher(t *testing.T) {
	addr, e, service := startStore(t, "secret")
	const warmUp = 40 * time.Millisecond
	c := lead(t, "-node", "node1", "-hosts", addr, "-records", "500", "-workers", "2", "-connections", "2", "-batch", "50", "-warmup", "0.04", "-secs", "0.5")
	milestones, _ := c.until(t, node.Connected)
	checkMilestones(t, milestones, node.Connected)
	// The server opens a session after its last word of the handshake.
	for deadline := time.Now().Add(2 * time.Minute); service.Conns() < 2 && time.Now().Before(deadline); {
		time.Sleep(time.Millisecond)
	}
	if n := e.Len(); n != 0 || service.Conns() != 2 {
		t.Errorf("connected: %d records and %d sessions, want none and 2", n, service.Conns())
	}
	c.command(t, node.Command{Do: node.Load, Values: strings.Repeat("0f", 16)})
	milestones, _ = c.until(t, node.Loaded)
	checkMilestones(t, milestones, "load", node.Loaded)
	if counts := service.Counts()["node1"]; e.Len() != 500 || counts.Puts != 500 || counts.Gets != 500 || counts.Misses != 0 {
		t.Errorf("loaded: %d records, %+v", e.Len(), counts)
	}
	c.command(t, node.Command{Do: node.Draw, Secret: 7})
	milestones, _ = c.until(t, node.Drawn)
	checkMilestones(t, milestones, node.Drawn)
	c.command(t, node.Command{Do: node.Go})
	milestones, _ = c.until(t, node.Warm)
	checkMilestones(t, milestones, "warmup", node.Warm)
	asked := time.Now()
	c.command(t, node.Command{Do: node.Settle, Extend: true, At: asked.Add(warmUp)})
	milestones, _ = c.until(t, node.Drained)
	checkMilestones(t, milestones, "window", "drain", node.Drained)
	applied := service.Counts()["node1"]
	c.command(t, node.Command{Do: node.Audit})
	milestones, summary := c.until(t, node.Done)
	checkMilestones(t, milestones, "audit", "done", "summary", node.Done)
	audited, spots := service.Counts()["node1"].Sub(applied), uint64(len(workload.SampleSpots(7, 500)))
	if all := audited.Add(metrics.Counts{Gets: spots, Hits: spots}); audited.Gets != 500 || audited.Ops() != 500 || summary.Peers[0].Audit != all {
		t.Errorf("the audit of 500 records: %+v, after %d in the window; the client counts %+v", audited, spots, summary.Peers[0].Audit)
	}
	if summary != nil && summary.WindowStart.Sub(asked) < warmUp {
		t.Errorf("the window opened %v after the warm-up of %v was extended", summary.WindowStart.Sub(asked), warmUp)
	}
	if status := <-c.exited; status != 0 {
		t.Errorf("status %d, stderr %q", status, &c.stderr)
	}
	if applied = service.Counts()["node1"]; summary == nil || summary.Total != applied || summary.InWindow.Ops() == 0 {
		t.Errorf("the summary is %+v, the server applied %+v", summary, applied)
	}
}

// What a client cannot do is its last event, and its exit status.
func TestClientErrors(t *testing.T) {
	addr, _, _ := startStore(t, "another run")
	gone, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	gone.Close()
	tests := []struct {
		name   string
		args   []string
		status int
		want   string
	}{
		{"a server of another run", []string{"-hosts", addr}, 1, "belongs to another run"},
		{"no server", []string{"-hosts", gone.Addr().String()}, 1, gone.Addr().String()},
		{"wrong flag", []string{"-theta", "0"}, 2, "-theta 0"},
		{"no servers in a run", []string{"-transport", "inproc"}, 2, "-transport inproc"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			c := lead(t, test.args...)
			milestones, _ := c.until(t, node.Error)
			if len(milestones) != 1 || !strings.Contains(milestones[0], test.want) {
				t.Errorf("the client reports %q, want an error with %q", milestones, test.want)
			}
			if status := <-c.exited; status != test.status {
				t.Errorf("status %d, want %d", status, test.status)
			}
		})
	}
}

// A client out of step with its launcher leaves.
func TestClientOutOfStep(t *testing.T) {
	addr, e, _ := startStore(t, "secret")
	c := lead(t, "-hosts", addr, "-records", "500", "-workers", "1")
	c.command(t, node.Command{Do: node.Go})
	milestones, _ := c.until(t, node.Error)
	checkMilestones(t, milestones, node.Connected, `error: command "go" from the launcher, want "load"`)
	if status := <-c.exited; status != 1 || e.Len() != 0 {
		t.Errorf("status %d, %d records", status, e.Len())
	}
}

// By hand a client needs neither launcher nor server, and ends with the labs'
// line.
func TestClientByHand(t *testing.T) {
	var stdout, stderr bytes.Buffer
	args := strings.Fields("-transport inproc -engine mutex -records 500 -workers 2 -batch 50 -warmup 0 -secs 0.5")
	if status := Program().Main(args, strings.NewReader(""), &stdout, &stderr); status != 0 {
		t.Fatalf("status %d, stderr %q", status, &stderr)
	}
	lines := strings.Split(strings.TrimSpace(stdout.String()), "\n")
	if last := lines[len(lines)-1]; !strings.HasPrefix(last, "throughput ") || !strings.HasSuffix(last, " ops/s") || strings.HasPrefix(last, "throughput 0.00") {
		t.Errorf("the last line is %q", last)
	}
	for _, want := range []string{"  -theta 0.99", "  -secs 0.5", "loaded: 500 records stored in ", "phase window"} {
		if !strings.Contains(stdout.String(), want) {
			t.Errorf("%q is not in the log:\n%s", want, &stdout)
		}
	}
}
