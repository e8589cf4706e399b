package node

import (
	"bufio"
	"context"
	"encoding/json"
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

// conversation is a probe in this process, and the launcher's end of its pipe.
type conversation struct {
	in    *io.PipeWriter
	lines *bufio.Scanner
	ended chan error
}

func startProbe(t *testing.T) *conversation {
	t.Helper()
	in, toProbe := io.Pipe()
	fromProbe, out := io.Pipe()
	c := &conversation{in: toProbe, lines: bufio.NewScanner(fromProbe), ended: make(chan error, 1)}
	go func() {
		c.ended <- Serve(context.Background(), in, out)
		out.Close()
	}()
	t.Cleanup(func() { toProbe.Close(); fromProbe.Close() })
	return c
}

func (c *conversation) ask(t *testing.T, q Question) Answer {
	t.Helper()
	line, err := json.Marshal(q)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.in.Write(append(line, '\n')); err != nil {
		t.Fatal(err)
	}
	if !c.lines.Scan() {
		t.Fatalf("no answer to %s: %v", line, c.lines.Err())
	}
	var a Answer
	if err := json.Unmarshal(c.lines.Bytes(), &a); err != nil || a.Probe != Protocol {
		t.Fatalf("answer %s: %v", c.lines.Bytes(), err)
	}
	return a
}

func TestClock(t *testing.T) {
	c := startProbe(t)
	before := time.Now().UnixNano()
	a := c.ask(t, Question{Ask: Clock})
	after := time.Now().UnixNano()
	if !slices.IsSorted([]int64{before, a.ReceivedNS, a.SentNS, after}) {
		t.Errorf("received at %d and sent at %d, outside of %d to %d", a.ReceivedNS, a.SentNS, before, after)
	}
	c.in.Close()
	if err := <-c.ended; err != nil {
		t.Errorf("its launcher goes, and the probe ends with %v", err)
	}
}

func TestQuestionErrors(t *testing.T) {
	for line, want := range map[string]string{
		`{"ask":"dance"}`:                    `unknown question "dance"`,
		`hello`:                              "read a question",
		`{"ask":"facts","data":"300.1.1.1"}`: "data address",
		`{"ask":"facts","data":"localhost"}`: "data address",
		`{"ask":"dial","peers":"127.0.0.1"}`: "read a question",
	} {
		var out strings.Builder
		err := Serve(context.Background(), strings.NewReader(line+"\n"), &out)
		var a Answer
		if jsonErr := json.Unmarshal([]byte(out.String()), &a); err == nil || jsonErr != nil || !strings.Contains(a.Error, want) {
			t.Errorf("%s: answer %q (%v), error %v; want %q", line, out.String(), jsonErr, err, want)
		}
	}
}

// Two probes listen on the addresses of servers to be; one sees the other, and
// is refused where nobody listens. After their end the addresses are free, with
// no connection in TIME_WAIT on them.
func TestFactsAndDial(t *testing.T) {
	port := freePort(t)
	near, far := startProbe(t), startProbe(t)
	answer := far.ask(t, Question{Ask: Facts, Data: "127.0.0.1", Route: "127.0.0.1", Listen: []string{port}})
	if answer.Listening != port || answer.DataError != "" || len(answer.Facts.Ports) != 1 || answer.Facts.Ports[0].Error != "" {
		t.Errorf("listening on %q, error %q, ports %+v", answer.Listening, answer.DataError, answer.Facts.Ports)
	}
	client := near.ask(t, Question{Ask: Facts, Data: "127.0.0.1", Route: "127.0.0.1"})
	if client.Listening == "" || client.Facts.Ports != nil {
		t.Errorf("without a server: listening on %q, ports %+v", client.Listening, client.Facts.Ports)
	}
	rtts := near.ask(t, Question{Ask: Dial, Peers: []string{port, freePort(t)}}).RTTs
	if len(rtts) != 2 || rtts[0].Error != "" || rtts[0].US <= 0 || rtts[0].US > 1e6 || !strings.Contains(rtts[1].Error, "refused") {
		t.Errorf("round-trip times %+v", rtts)
	}
	far.in.Close()
	if err := <-far.ended; err != nil {
		t.Fatal(err)
	}
	sockets, err := os.ReadFile("/proc/net/tcp")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(sockets)) {
		if fields := strings.Fields(line); len(fields) > 3 && fields[3] == "06" {
			if at, ok := parseSocketAddress(fields[1]); ok && at.String() == port {
				t.Errorf("a connection of %s is in TIME_WAIT", port)
			}
		}
	}
}

// freePort is an address on loopback on which nobody listens.
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
	f := startProbe(t).ask(t, Question{Ask: Facts, Data: "127.0.0.1"}).Facts
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
		a := startProbe(t).ask(t, Question{Ask: Facts, Data: "127.0.0.1", Listen: []string{ask + ":" + port}})
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
	a := startProbe(t).ask(t, Question{Ask: Facts, Data: "192.0.2.7", Route: "127.0.0.1", Listen: []string{"192.0.2.7:8080"}})
	if a.Facts.Data != (metrics.Link{}) || !strings.Contains(a.Facts.Ports[0].Error, "cannot assign") || !strings.Contains(a.DataError, "cannot assign") {
		t.Errorf("data %+v, ports %+v, error %q", a.Facts.Data, a.Facts.Ports, a.DataError)
	}
}
