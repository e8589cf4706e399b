// Package fakenode is the program of the nodes with which the launcher's tests run: it
// speaks the protocol of package node, invents its counts, and misbehaves when it is told
// to. It links little: the tests start thousands.
package fakenode

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"kvlab/kvs/node"
	"kvlab/metrics"
	"kvlab/workload"
)

// Main does what the command line asks for.
func Main() {
	if len(os.Args) < 2 {
		return
	}
	switch os.Args[1] {
	case "-probe", "-control":
		run()
	case "-settings":
		settings(os.Args[2:])
	case "-flags":
		json.NewEncoder(os.Stdout).Encode([]metrics.Flag{
			{Name: "batch"}, {Name: "theta"}, {Name: "workload"}, {Name: "records"}, {Name: "value-size"}, {Name: "engine"}, {Name: "tls", Bool: true}, {Name: "clients", Class: metrics.OwnFlag}, {Name: "node", Class: metrics.OwnFlag},
		})
	case "-version":
		led := node.Led
		if os.Getenv("BUILD") == "0" && os.Getenv("OLD_BUILD") != "" {
			led, _, _ = strings.Cut(led, ", records")
		}
		fmt.Println("fake v1 go1.26, wire " + cmp.Or(os.Getenv("BUILD"), "1") + ", " + led)
	}
}

// settings answers the launcher's question about a command line, and takes no -theta 0.
func settings(args []string) {
	if slices.Contains(args, "-theta=0") {
		fmt.Fprintln(os.Stderr, "kvsclient: -theta 0: want more than 0")
		os.Exit(2)
	}
	json.NewEncoder(os.Stdout).Encode(flagsOf(args))
}

// flagsOf returns the final flags of a command line. The work is what account invents,
// whatever is typed.
func flagsOf(args []string) metrics.Settings {
	flags := metrics.Settings{
		"workload": workload.YCSBB, "seed": fmt.Sprint(seed), "arrivals": workload.Poisson, "theta": "0.99", "secs": "100", "warmup": "0", "engine": "syncmap", "batch": fmt.Sprint(batch),
		"value-size": "128", "workers": "1", "call-timeout": "60", "sample-every": "0",
	}
	typed := make(map[string]string)
	for i, arg := range args {
		name, value, joined := strings.Cut(strings.TrimLeft(arg, "-"), "=")
		if !joined && i+1 < len(args) {
			value = args[i+1]
		}
		typed[name] = value
	}
	for _, name := range []string{"value-size", "rate"} {
		if value, ok := typed[name]; ok {
			flags[name] = value
		}
	}
	if _, client := typed["client"]; client {
		clients, _ := strconv.Atoi(typed["clients"])
		servers := strings.Count(typed["hosts"], ",") + 1
		flags["distribution"], flags["records"] = workload.Sequential, fmt.Sprint(clients*servers*int(loadPair.Puts))
	}
	if typed["engine"] == "null" {
		flags["engine"] = "null"
	}
	if typed["joint"] != "" {
		flags["linearizable"] = "true"
	}
	return flags
}

// classes are those of the fake nodes' flags.
var classes = metrics.FlagClasses{Of: map[string]metrics.FlagClass{
	"workload": metrics.WorkFlag, "distribution": metrics.WorkFlag, "records": metrics.WorkFlag, "seed": metrics.WorkFlag, "workers": metrics.WorkFlag,
	"value-size": metrics.ShapeFlag, "batch": metrics.ShapeFlag, "rate": metrics.ShapeFlag, "arrivals": metrics.ShapeFlag, "warmup": metrics.ShapeFlag, "secs": metrics.ShapeFlag,
	"engine": metrics.StoreFlag,
}, Main: []string{"workload", "records", "value-size", "batch"}}

// Window is how long a fake client is in its window, whatever length it is told and reports.
const Window = 50 * time.Millisecond

// fake is a node of either role. Faults are words NODE:WHAT:WHERE among
// its arguments; it obeys those with its name.
type fake struct {
	mu    sync.Mutex // guards stdout and phase
	phase metrics.Phase
	heard metrics.Heard // its intervals in the window; guarded by mu
	name  string
	role  metrics.Role
	args  []string
	inbox chan node.Command
}

func run() {
	n := &fake{phase: metrics.Idle, inbox: make(chan node.Command, 100)}
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
	flags, can := flagsOf(n.args), metrics.AllCapabilities
	can.Store = !n.has("null") && flags["engine"] != "null"
	n.record(metrics.Record{Config: &metrics.Config{Schema: metrics.Schema, Args: n.args, Flags: flags, Classes: classes, Host: metrics.Host{CPUModel: "Test CPU"}, Capabilities: &can}})
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
func (n *fake) listen() {
	scanner := bufio.NewScanner(os.Stdin)
	// What is asked about the machine, a real node answers.
	questions, asked := io.Pipe()
	answers := machine{os.Stdout, make(chan struct{}, 1)}
	node.Controlled(context.Background(), questions, answers)
	for scanner.Scan() {
		var command node.Command
		if err := json.Unmarshal(scanner.Bytes(), &command); err != nil {
			fmt.Fprintln(os.Stderr, "bad command:", scanner.Text())
			os.Exit(3)
		}
		switch command.Do {
		case node.Clock, node.Facts, node.Dial:
			fmt.Fprintln(asked, scanner.Text())
			<-answers.written
		case node.Beat:
		case node.Dump:
			n.log("fake stacks")
			n.send(node.Event{Event: node.Dumped})
		default:
			n.inbox <- command
		}
	}
	if slices.ContainsFunc(n.args, func(a string) bool { return strings.HasPrefix(a, n.name+":stubborn") }) {
		forever()
	}
	os.Exit(4)
}

func (n *fake) serve() {
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
		if command.Phase == metrics.Drain {
			n.send(node.Event{Event: node.Drained})
		}
	}
	n.at("stop")
	n.mu.Lock()
	s := metrics.Summary{WindowLengthS: n.heard.LengthS, InWindow: metrics.Counts{Gets: n.heard.Ops}}
	n.mu.Unlock()
	s.Opening = &metrics.Marks{Start: time.Unix(0, 0), AtS: []float64{0}, Ops: []uint64{0}} // of 1970: they bound nothing
	s.Closing = s.Opening
	for _, client := range strings.Split(n.arg("-fake-clients"), ",") {
		s.Peers = append(s.Peers, metrics.PeerCounts{Peer: client, Counts: Pair, Sessions: []metrics.Sessions{{Ops: []uint64{Pair.Ops()}, Keys: []uint64{0}}}})
		s.Total = s.Total.Add(Pair)
	}
	s.Saturation = &metrics.Saturation{ProcessCPUPercent: 1}
	s.Seen = &metrics.Seen{Records: uint64(len(s.Peers)) * loadPair.Puts, Groups: []uint64{s.Total.Ops()}, Values: metrics.Values{Count: 10, Bytes: 1280, Compressed: 1280}}
	n.finish(s)
}

func (n *fake) load() {
	n.send(node.Event{Event: node.Connected})
	n.at("ready")
	key := (<-n.inbox).Values
	n.enter(metrics.Load)
	n.send(node.Event{Event: node.Loaded})
	selects := (<-n.inbox).Secret
	n.send(node.Event{Event: node.Drawn})
	<-n.inbox
	s := metrics.Summary{}
	for _, phase := range []metrics.Phase{metrics.WarmUp, metrics.Window, metrics.Drain} {
		n.send(node.Event{Event: node.Phase, Phase: phase})
		n.enter(phase)
		switch phase {
		case metrics.WarmUp:
			n.send(node.Event{Event: node.Warm})
			told := <-n.inbox
			s.WindowStart, s.WindowLengthS = told.At, told.Length
		case metrics.Window:
			time.Sleep(Window)
		}
	}
	for i := range strings.Split(n.arg("-hosts"), ",") {
		s.Peers = append(s.Peers, metrics.PeerCounts{Peer: fmt.Sprintf("node%d", i), Counts: Pair, Load: loadPair})
		s.Total = s.Total.Add(Pair)
	}
	n.account(&s)
	if which := n.arg("-joint"); which != "" {
		n.joint(which)
		s.Check = &metrics.Check{Keys: 1, Slices: 1, Ops: 3}
	}
	n.send(node.Event{Event: node.Drained})
	<-n.inbox
	n.audit(uint64(len(s.Peers)), key, selects)
	n.finish(s)
}

func (n *fake) enter(phase metrics.Phase) {
	n.mu.Lock()
	n.phase = phase
	n.mu.Unlock()
	n.interval()
	n.at(string(phase))
}

func (n *fake) arg(name string) string {
	if i := slices.Index(n.args, name); i >= 0 && i+1 < len(n.args) {
		return n.args[i+1]
	}
	return ""
}

func (n *fake) beat() {
	for {
		time.Sleep(100 * time.Millisecond)
		n.interval()
	}
}

func (n *fake) interval() {
	n.mu.Lock()
	phase := n.phase
	if phase == metrics.Window {
		n.heard.LengthS += 0.5
		n.heard.Ops += 1000
	}
	n.mu.Unlock()
	i := metrics.Interval{Phase: phase, LengthS: 0.5, Counts: metrics.Counts{Gets: 1000}}
	if phase == metrics.Window && n.role == metrics.Client {
		i.Counts.Gets = 5
	}
	n.record(metrics.Record{Interval: &i})
}

func (n *fake) record(r metrics.Record) {
	r.Node, r.Role, r.Time = n.name, n.role, time.Now()
	n.send(node.Event{Event: node.Report, Record: &r})
}

func (n *fake) log(format string, args ...any) {
	n.send(node.Event{Event: node.Log, Text: fmt.Sprintf(format, args...)})
}

func (n *fake) send(event node.Event) {
	line, err := json.Marshal(event)
	if err != nil {
		panic(err)
	}
	n.write(string(line))
}

func (n *fake) write(line string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	fmt.Println(line)
}
