package fakenode

import (
	"os"
	"slices"
	"strings"
	"syscall"
	"time"

	"kvlab/kvs/node"
)

// at carries out the node's faults at a place.
func (n *fake) at(where string) {
	for _, arg := range n.args {
		what, ok := strings.CutPrefix(arg, n.name+":")
		if what, ok2 := strings.CutSuffix(what, ":"+where); ok && ok2 && n.due() {
			n.log("fault %s at %s", what, where)
			n.misbehave(what)
		}
	}
}

// due reports whether a fault is to happen: with -once FILE only if the file is
// not there yet, and it is from then on.
func (n *fake) due() bool {
	file := n.arg("-once")
	if file == "" {
		return true
	}
	f, err := os.OpenFile(file, os.O_CREATE|os.O_EXCL, 0o644)
	f.Close()
	return err == nil
}

func (n *fake) misbehave(what string) {
	switch what {
	case "kill":
		syscall.Kill(os.Getpid(), syscall.SIGKILL)
		forever()
	case "exit3":
		os.Exit(3)
	case "exit0":
		os.Exit(0)
	case "panic":
		panic("this is the fake node's panic")
	case "error":
		n.send(node.Event{Event: node.Error, Text: "listen tcp 127.0.0.1:8080: bind: address already in use"})
		os.Exit(1)
	case "restarted":
		n.send(node.Event{Event: node.Error, Text: "server restarted: another instance", Peer: "node0", Lost: true})
		os.Exit(1)
	case "usage":
		n.send(node.Event{Event: node.Error, Usage: true, Text: "-theta 0: must be above 0"})
		os.Exit(2)
	case "step":
		if err := os.WriteFile(os.Getenv(StepVariable), nil, 0o644); err != nil {
			panic(err)
		}
	case "garbage":
		n.write("{{{ no event")
	case "strange":
		n.send(node.Event{Event: "dance"})
	case "early":
		n.send(node.Event{Event: node.Done})
	case "hang":
		n.mu.Lock() // no more heartbeats
		forever()
	case "pause", "stubborn":
		forever()
	}
}

// has reports whether the node has a fault without a place.
func (n *fake) has(what string) bool { return slices.Contains(n.args, n.name+":"+what) }

// forever waits, as select {} does, which the runtime would take for a deadlock.
func forever() {
	for {
		time.Sleep(time.Hour)
	}
}
