package node

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"kvlab/metrics"
)

// asked is a node in this process that answers questions about its machine.
type asked struct {
	*launcher
	ctx context.Context // the node's
}

func startProbe(t *testing.T) asked {
	t.Helper()
	l, stdin, stdout := newLauncher(t)
	_, ctx := Controlled(t.Context(), stdin, stdout)
	return asked{l, ctx}
}

func (a asked) ask(t *testing.T, do string, q Question) Answer {
	t.Helper()
	a.send(t, Command{Do: do, Question: q})
	e := a.next(t)
	if e.Event != Answered || e.Answer == nil {
		t.Fatalf("%s %+v: event %+v", do, q, e)
	}
	return *e.Answer
}

func TestClock(t *testing.T) {
	c := startProbe(t)
	before := time.Now().UnixNano()
	a := c.ask(t, Clock, Question{})
	after := time.Now().UnixNano()
	if !slices.IsSorted([]int64{before, a.ReceivedNS, a.SentNS, after}) {
		t.Errorf("received at %d and sent at %d, outside of %d to %d", a.ReceivedNS, a.SentNS, before, after)
	}
	if a.SentMonotonicNS < a.ReceivedMonotonicNS-int64(time.Second) {
		t.Errorf("received at %d and sent at %d of the monotonic clock", a.ReceivedMonotonicNS, a.SentMonotonicNS)
	}
	c.commands.Close()
	if err := ended(t, c.ctx); !errors.Is(err, errControllerGone) {
		t.Errorf("the launcher goes, and the node ends with %v", err)
	}
}

// A question that a node cannot answer is the last thing that it hears.
func TestQuestionErrors(t *testing.T) {
	for line, want := range map[string]string{
		`hello`: "read a command",
		`{"do":"facts","question":{"data":"300.1.1.1"}}`: "data address",
		`{"do":"facts","question":{"data":"localhost"}}`: "data address",
		`{"do":"dial","question":{"peers":"127.0.0.1"}}`: "read a command",
	} {
		program := Program{Name: "kvsserver", Role: metrics.Server}
		var out, stderr strings.Builder
		in, commands := io.Pipe() // stays open
		go fmt.Fprintln(commands, line)
		status := program.Main([]string{"-control"}, in, &out, &stderr)
		var e Event
		if err := json.Unmarshal([]byte(out.String()), &e); err != nil || status != exitFailed || e.Event != Error || !strings.Contains(e.Text, want) {
			t.Errorf("%s: status %d, event %q (%v); want %q", line, status, out.String(), err, want)
		}
		commands.Close()
	}
}

// Two probes listen on the addresses of servers to be; one sees the other, and
// is refused where no process listens. After their end the addresses are free, with
// no connection in TIME_WAIT on them.
func TestFactsAndDial(t *testing.T) {
	port := freePort(t)
	near, far := startProbe(t), startProbe(t)
	answer := far.ask(t, Facts, Question{Data: "127.0.0.1", Route: "127.0.0.1", Listen: []string{port}})
	if answer.Listening != port || answer.DataError != "" || len(answer.Facts.Ports) != 1 || answer.Facts.Ports[0].Error != "" {
		t.Errorf("listening on %q, error %q, ports %+v", answer.Listening, answer.DataError, answer.Facts.Ports)
	}
	client := near.ask(t, Facts, Question{Data: "127.0.0.1", Route: "127.0.0.1"})
	if client.Listening == "" || client.Facts.Ports != nil {
		t.Errorf("without a server: listening on %q, ports %+v", client.Listening, client.Facts.Ports)
	}
	rtts := near.ask(t, Dial, Question{Peers: []string{port, freePort(t)}}).RTTs
	if len(rtts) != 2 || rtts[0].Err != "" || rtts[0].US <= 0 || rtts[0].US > 1e6 || !strings.Contains(rtts[1].Err, "refused") {
		t.Errorf("round-trip times %+v", rtts)
	}
	far.commands.Close()
	_ = ended(t, far.ctx)
	const timeWait = 6
	for _, s := range thisMachine.sockets() {
		if s.St == timeWait && fmt.Sprintf("%s:%d", s.LocalAddr, s.LocalPort) == port {
			t.Errorf("a connection of %s is in TIME_WAIT", port)
		}
	}
}

// freePort returns an address on loopback on which no process listens.
func freePort(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

// The facts that this machine tells by other ways too.
func TestFactsOfThisMachine(t *testing.T) {
	f := startProbe(t).ask(t, Facts, Question{Data: "127.0.0.1"}).Facts
	system, err := exec.Command("uname", "-m").Output()
	if err != nil {
		t.Fatal(err)
	}
	loopback, err := net.InterfaceByName(f.Data.Name)
	if err != nil || loopback.Flags&net.FlagLoopback == 0 || f.Data.MTUBytes != loopback.MTU || f.Data.BitsPerS != 0 {
		t.Errorf("data interface %+v, %v", f.Data, err)
	}
	if f.Architecture != strings.TrimSpace(string(system)) || f.User == "" || f.Host.Cores == 0 || f.OpenFilesLimit == 0 || f.FreeBytes == 0 {
		t.Errorf("facts %+v", f)
	}
	df, err := exec.Command("stat", "-f", "-c", "%T", f.Folder).Output()
	if kind := strings.Split(strings.TrimSpace(string(df)), "/")[0]; err != nil || !strings.HasPrefix(f.FileSystem, kind[:3]) && !strings.HasPrefix(f.FileSystem, "0x") {
		t.Errorf("%s is on %s, and stat says %s (%v)", f.Folder, f.FileSystem, df, err)
	}
}

// A listener is found with its process, whichever of its addresses is asked for.
func TestForeignListener(t *testing.T) {
	for listen, ask := range map[string]string{"127.0.0.1": "127.0.0.1", "": "127.0.0.1", "0.0.0.0": "127.0.0.1", "[::1]": "[::1]"} {
		l, err := net.Listen("tcp", listen+":0")
		if err != nil {
			t.Logf("no %s here: %v", listen, err)
			continue
		}
		_, port, _ := net.SplitHostPort(l.Addr().String())
		a := startProbe(t).ask(t, Facts, Question{Data: "127.0.0.1", Listen: []string{ask + ":" + port}})
		p := a.Facts.Ports[0]
		if !strings.Contains(p.Error, "address already in use") || len(p.Owners) != 1 || p.Owners[0].PID != os.Getpid() {
			t.Errorf("listener on %q: %+v", listen, p)
		} else if o := p.Owners[0]; o.Name != filepath.Base(os.Args[0]) && !strings.HasPrefix(filepath.Base(os.Args[0]), o.Name) || o.User != userName(os.Getuid()) || time.Since(o.Started) > time.Hour || time.Since(o.Started) < -2*time.Second {
			t.Errorf("owner %+v", o)
		}
		l.Close()
	}
	if owners := thisMachine.listeners(freePort(t)); owners != nil {
		t.Errorf("a free port has owners %+v", owners)
	}
}

// An address of another machine is no data address.
func TestForeignAddress(t *testing.T) {
	a := startProbe(t).ask(t, Facts, Question{Data: "192.0.2.7", Route: "127.0.0.1", Listen: []string{"192.0.2.7:8080"}})
	if a.Facts.Data != (metrics.Link{}) || !strings.Contains(a.Facts.Ports[0].Error, "cannot assign") || !strings.Contains(a.DataError, "cannot assign") {
		t.Errorf("data %+v, ports %+v, error %q", a.Facts.Data, a.Facts.Ports, a.DataError)
	}
}
