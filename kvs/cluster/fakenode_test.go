package cluster

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"kvlab/kvs/cluster/plan"
	"kvlab/kvs/node"
	"kvlab/metrics"
)

// Started the way the launcher starts a node, the test binary is one: a program
// that speaks the protocol of package node, invents its counts, and misbehaves
// when it is told to.
func TestMain(m *testing.M) {
	if os.Getenv("BUILD") == "0" && len(os.Args) > 1 && os.Args[1] == "-probe" && os.Getenv("OLD_BUILD") != "" {
		os.Exit(2)
	}
	if len(os.Args) > 1 && (os.Args[1] == "-control" || os.Args[1] == "-probe") {
		runFakeNode()
		os.Exit(0)
	}
	if len(os.Args) > 1 && os.Args[1] == "-settings" {
		fakeSettings(os.Args[2:])
	}
	if len(os.Args) == 2 && os.Args[1] == "-flags" {
		json.NewEncoder(os.Stdout).Encode([]metrics.Flag{
			{Name: "batch"}, {Name: "theta"}, {Name: "workload"}, {Name: "records"}, {Name: "value-size"}, {Name: "engine"}, {Name: "tls", Bool: true}, {Name: "clients", Class: metrics.OwnFlag}, {Name: "node", Class: metrics.OwnFlag},
		})
		os.Exit(0)
	}
	if len(os.Args) == 2 && os.Args[1] == "-version" {
		fmt.Println("fake v1 go1.26, wire " + cmp.Or(os.Getenv("BUILD"), "1"))
		os.Exit(0)
	}
	if root := os.Getenv(launcherVariable); root != "" {
		l := fakeLauncher(root, os.Stdout, os.Stderr)
		os.Exit(ExitStatus(l.Run(context.Background(), os.Args[1:])))
	}
	// A launcher built with -race would stay for a second when it is done.
	os.Setenv("GORACE", "atexit_sleep_ms=0")
	// Most parallel tests wait for nodes, also on a machine of few processors.
	flag.Parse()
	flag.Set("test.parallel", "6")
	remove, err := makeFakeProgram()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	status := m.Run()
	remove()
	os.Exit(status)
}

// programVariable is the environment variable with the path of the fake nodes' program.
const programVariable = "FAKE_PROGRAM"

// makeFakeProgram sets programVariable: to this test binary, or to one without the race
// detector. That starts in a third of the processor time, and the tests start thousands.
func makeFakeProgram() (remove func(), err error) {
	program, err := os.Executable()
	info, _ := debug.ReadBuildInfo() // every test binary has it
	if err != nil || !slices.Contains(info.Settings, debug.BuildSetting{Key: "-race", Value: "true"}) {
		os.Setenv(programVariable, program)
		return func() {}, err
	}
	dir, err := os.MkdirTemp("", "fakenode-")
	if err != nil {
		return nil, err
	}
	os.Setenv(programVariable, filepath.Join(dir, "fakenode"))
	if out, err := exec.Command("go", "test", "-c", "-vet=off", "-o", os.Getenv(programVariable)).CombinedOutput(); err != nil {
		os.RemoveAll(dir)
		return nil, fmt.Errorf("fake nodes without -race: %w\n%s", err, out)
	}
	return func() { os.RemoveAll(dir) }, nil
}

// fakeSettings answers the launcher's question about a command line, and takes
// no -theta 0.
func fakeSettings(args []string) {
	if plan.HasFlag(args, "theta") && slices.Contains(args, "-theta=0") {
		fmt.Fprintln(os.Stderr, "kvsclient: -theta 0: want more than 0")
		os.Exit(2)
	}
	flags := map[string]string{"batch": "8192", "theta": "0.99", "engine": "syncmap", "node": "", "listen": "", "clients": "1", "secs": "1"}
	for i, arg := range args {
		name, value, joined := strings.Cut(strings.TrimLeft(arg, "-"), "=")
		if !joined && i+1 < len(args) {
			value = args[i+1]
		}
		switch name {
		case "workload", "records", "value-size", "secs":
			flags[name] = value
		}
	}
	json.NewEncoder(os.Stdout).Encode(flags)
	os.Exit(0)
}

// The invented counts between one client and one server.
var fakePair = metrics.Counts{Gets: 950, Puts: 50, Hits: 950, Calls: 10}

// Of them, those of the load: a record, which was stored and read back.
var fakeLoad = metrics.Counts{Gets: 1, Puts: 1, Hits: 1, Calls: 2}

// fakeWindow is how long a fake client is in its window.
const fakeWindow = 50 * time.Millisecond

// fakeNode is a node of either role. Faults are words NODE:WHAT:WHERE among
// its arguments; it obeys those with its name.
type fakeNode struct {
	mu    sync.Mutex // guards stdout and phase
	phase metrics.Phase
	name  string
	role  metrics.Role
	args  []string
	inbox chan node.Command
}

func runFakeNode() {
	n := &fakeNode{phase: metrics.Idle, inbox: make(chan node.Command, 100)}
	go n.listen()
	start := <-n.inbox
	n.args = start.Args
	n.name = n.arg("-node")
	n.role = metrics.Client
	if n.arg("-listen") != "" {
		n.role = metrics.Server
	}
	n.log("pid %d", os.Getpid())
	n.log("token %s", start.Token)
	n.at("start")
	flags := map[string]string{"workload": "YCSB-B", "seed": "42", "secs": "1", "warmup": "0", "engine": "syncmap", "batch": "8192"}
	if n.role == metrics.Client {
		clients, _ := strconv.Atoi(n.arg("-clients"))
		servers := strings.Count(n.arg("-hosts"), ",") + 1
		flags["distribution"], flags["records"] = "sequential", fmt.Sprint(clients*servers*int(fakeLoad.Puts))
	}
	can := metrics.AllCapabilities
	if n.has("null") || slices.Contains(n.args, "-engine=null") {
		flags["engine"], can.Store = "null", false
	}
	if n.arg("-joint") != "" {
		flags["check"] = "true"
	}
	n.record(metrics.Record{Config: &metrics.Config{Args: n.args, Flags: flags, Host: metrics.Host{CPUModel: "Test CPU"}, Capabilities: &can}})
	go n.beat()
	if n.role == metrics.Server {
		n.serve()
	} else {
		n.load()
	}
	n.at("exit")
}

// listen reads commands. Like a real node it leaves when its controller goes,
// unless its fault is to be stubborn.
func (n *fakeNode) listen() {
	scanner := bufio.NewScanner(os.Stdin)
	// What is asked about the machine, a real node answers.
	questions, asked := io.Pipe()
	node.Controlled(context.Background(), questions, fakeMachine{os.Stdout})
	for scanner.Scan() {
		var command node.Command
		if err := json.Unmarshal(scanner.Bytes(), &command); err != nil {
			fmt.Fprintln(os.Stderr, "bad command:", scanner.Text())
			os.Exit(3)
		}
		switch command.Do {
		case node.Clock, node.Facts, node.Dial:
			fmt.Fprintln(asked, scanner.Text())
		case node.Beat:
		case node.Dump:
			n.log("fake stacks")
			n.send(node.Event{Event: node.Dumped})
		default:
			n.inbox <- command
		}
	}
	if slices.ContainsFunc(n.args, func(a string) bool { return strings.HasPrefix(a, n.name+":stubborn") }) {
		select {}
	}
	os.Exit(4)
}

func (n *fakeNode) serve() {
	n.send(node.Event{Event: node.Ready, Addr: n.arg("-listen")})
	n.at("ready")
	for command := range n.inbox {
		if command.Do == node.Stop {
			break
		}
		if command.Phase == metrics.Drain && n.phase != metrics.Window {
			n.enter(metrics.Window) // on a busy machine the clients' windows have no moment in common
		}
		n.enter(command.Phase)
	}
	n.at("stop")
	s := metrics.Summary{}
	for _, client := range strings.Split(n.arg("-fake-clients"), ",") {
		s.Peers = append(s.Peers, metrics.PeerCounts{Peer: client, Counts: fakePair})
		s.Total = s.Total.Add(fakePair)
	}
	s.Seen = &metrics.Seen{Records: uint64(len(s.Peers)) * fakeLoad.Puts}
	n.finish(s)
}

// joint reports the client's part of a slice in which this client has replaced
// its value, and the other reads it: after that, if it is "stale".
func (n *fakeNode) joint(which string) {
	client, _ := strconv.Atoi(n.arg("-client"))
	old, next := metrics.MakeValue(0, 0, 1), metrics.MakeValue(0, 0, 2)
	read := metrics.HistoryOp{Client: 1, Read: &next, CallNs: 50, ReturnNs: 60}
	if which == "stale" {
		read.Read = &old
	}
	h := metrics.History{Key: "7", Spans: []metrics.WorkerSpan{{Client: client, Last: 2, EndedNs: 100}}, Ops: []metrics.HistoryOp{read}}
	if client == 0 {
		h.Ops = []metrics.HistoryOp{{Wrote: old, CallNs: 10, ReturnNs: 20}, {Wrote: next, CallNs: 30, ReturnNs: 40}}
	}
	s := metrics.Slice{Number: 1, Client: client, Clock: "this"}
	if err := s.Pack([]metrics.History{h}); err != nil {
		panic(err)
	}
	n.record(metrics.Record{Slice: &s})
}

func (n *fakeNode) load() {
	n.send(node.Event{Event: node.Connected})
	n.at("ready")
	<-n.inbox
	n.enter(metrics.Load)
	n.send(node.Event{Event: node.Loaded})
	<-n.inbox
	s := metrics.Summary{}
	for _, phase := range []metrics.Phase{metrics.WarmUp, metrics.Window, metrics.Drain} {
		n.send(node.Event{Event: node.Phase, Phase: phase})
		if phase == metrics.Window {
			s.WindowStart = time.Now()
		}
		n.enter(phase)
		if phase == metrics.Window {
			time.Sleep(fakeWindow)
		}
	}
	// Clients on a busy machine begin seconds apart, and their windows are to overlap.
	s.WindowLengthS = time.Since(s.WindowStart).Seconds() + 100
	for i := range strings.Split(n.arg("-hosts"), ",") {
		s.Peers = append(s.Peers, metrics.PeerCounts{Peer: fmt.Sprintf("node%d", i), Counts: fakePair, Load: fakeLoad})
		s.Total = s.Total.Add(fakePair)
	}
	n.account(&s)
	s.InWindow = metrics.Counts{Gets: 900, Puts: 40, Hits: 900, Calls: 9}
	if rate := n.arg("-rate"); rate != "" {
		n.offer(&s, rate)
	}
	if which := n.arg("-joint"); which != "" {
		n.joint(which)
	}
	n.send(node.Event{Event: node.Drained})
	<-n.inbox
	n.audit(uint64(len(s.Peers)))
	n.finish(s)
}

// audit reports that the client's records have the values that it loaded, but for the
// last one of a client that lost it.
func (n *fakeNode) audit(records uint64) {
	client, _ := strconv.Atoi(n.arg("-client"))
	r := metrics.AuditRecord{Client: client, Each: 1 << 20, TickNs: 1, Loaded: []uint32{uint32(records)}}
	keys := metrics.AuditKeys{First: client * int(records)}
	for i := range records {
		keys.Found = append(keys.Found, metrics.MakeValue(client, 0, uint32(i+1)))
	}
	if n.has("lost") {
		keys.Found[records-1] = metrics.NoValue
	}
	if err := r.Pack(keys); err != nil {
		panic(err)
	}
	n.record(metrics.Record{Audit: &r})
}

// account says of the invented operations what a client says of real ones.
func (n *fakeNode) account(s *metrics.Summary) {
	servers := uint64(len(s.Peers))
	s.Edges = new(metrics.Edges)
	s.Workers = []metrics.WorkerAccount{{Loaded: servers * fakeLoad.Ops(), Drawn: s.Total.Ops() - servers*fakeLoad.Ops(), Verified: s.Total.Ops(),
		OpeningOps: 1024, Opening: n.name, Redrawn: n.name}}
}

// finish reports the summary, with the numbers that the faults ask for.
func (n *fakeNode) finish(s metrics.Summary) {
	switch {
	case n.has("no-summary"):
		n.send(node.Event{Event: node.Done})
		return
	case n.has("one-more"):
		s.Peers[0].Counts.Gets++
		s.Total.Gets++
	case n.has("lost-total"):
		s.Total.Puts--
	case n.has("miss"):
		s.InWindow.Misses = 3
	case n.has("corrupt"):
		s.Verification = metrics.Verification{Failures: 2, First: "key 7: wrong length"}
	case n.has("unlinear"):
		v := unlinear()
		s.Check = &metrics.Check{Keys: 1, Slices: 1, Ops: 3, Illegal: 1, First: v.Why}
		n.record(metrics.Record{Violation: &v})
	case n.has("other-time"):
		s.WindowStart = s.WindowStart.Add(-time.Hour)
	case n.has("no-ops"):
		s.InWindow = metrics.Counts{}
	}
	n.record(metrics.Record{Summary: &s})
	n.send(node.Event{Event: node.Done})
}

func (n *fakeNode) enter(phase metrics.Phase) {
	n.mu.Lock()
	n.phase = phase
	n.mu.Unlock()
	n.interval()
	n.at(string(phase))
}

func (n *fakeNode) arg(name string) string {
	if i := slices.Index(n.args, name); i >= 0 && i+1 < len(n.args) {
		return n.args[i+1]
	}
	return ""
}

func (n *fakeNode) beat() {
	for {
		time.Sleep(100 * time.Millisecond)
		n.interval()
	}
}

func (n *fakeNode) interval() {
	n.mu.Lock()
	phase := n.phase
	n.mu.Unlock()
	n.record(metrics.Record{Interval: &metrics.Interval{Phase: phase, LengthS: 0.5, Counts: metrics.Counts{Gets: 1000}}})
}

func (n *fakeNode) record(r metrics.Record) {
	r.Node, r.Role, r.Time = n.name, n.role, time.Now()
	n.send(node.Event{Event: node.Report, Record: &r})
}

func (n *fakeNode) log(format string, args ...any) {
	n.send(node.Event{Event: node.Log, Text: fmt.Sprintf(format, args...)})
}

func (n *fakeNode) send(event node.Event) {
	line, err := json.Marshal(event)
	if err != nil {
		panic(err)
	}
	n.write(string(line))
}

func (n *fakeNode) write(line string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	fmt.Println(line)
}
