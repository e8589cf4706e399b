package trial

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"time"

	"kvlab/kvs/cluster/plan"
	"kvlab/kvs/cluster/remote"
	"kvlab/kvs/node"
	"kvlab/metrics"
	"kvlab/metrics/account"
	"kvlab/metrics/format"
)

// stage is a node's progress. A server goes from started to ready, drained and done; a client
// also reaches loaded and drawn.
type stage int

const (
	started stage = iota
	ready         // a server listens, a client is connected
	loaded        // a client's records are stored and read back
	drawn         // a client's first rounds are drawn
	drained       // no call of a client's workload is in flight
	done          // everything is reported
	left          // the process has ended
)

// stageOf maps an event to the stage that it announces.
var stageOf = map[string]stage{
	node.Ready:     ready,
	node.Connected: ready,
	node.Loaded:    loaded,
	node.Drawn:     drawn,
	node.Drained:   drained,
	node.Done:      done,
}

// process is one place of a running trial. The goroutines that read its output
// write its log and send messages; every other field belongs to the Controller.
type process struct {
	plan.Place
	log   *nodeLog
	args  []string // that the launcher gave it
	way   remote.Way
	cmd   *remote.Running
	stdin io.WriteCloser

	spoken bool // the first event was read; only the reading goroutine uses it
	said   int  // bytes of its output; likewise

	contained bool // it is a submitted program

	stage        stage
	unresponsive bool               // did not act in time; no further action is expected
	failed       bool               // has reported an error; its exit adds nothing
	dumped       bool               // its goroutines' stacks are in its log
	orphan       bool               // its program may have outlived its connection, or left files
	outside      *metrics.ProcessID // what contains it; nil without one
	peak         uint64             // bytes of memory of what is contained, as that says at its end
	lost         error              // why its node is no longer reachable
	heard        time.Time          // when it last sent anything
	address      string             // a server's, from its ready event
	phase        metrics.Phase
	interval     metrics.Interval   // the last one
	warm         bool               // a client's warm-up is about to end
	round        time.Duration      // a client's longest recent round; until it is warm, an estimate by its load
	questions    []question         // in order
	owed         int                // of these, the answers that come before its next stage
	sampled      metrics.ProcessID  // the process that it samples; zero before its first reading
	broken       *metrics.Violation // what -linearizable found, nil for nothing
	slices       []metrics.Slice    // that it recorded with all clients
	unwritten    error              // of an arrival
	account.Reported
}

// id identifies the process on its node, or what contains it; nil before it is known.
func (m *process) id() *metrics.ProcessID {
	switch {
	case m.contained:
		return m.outside
	case m.Config == nil || m.Config.Process == (metrics.ProcessID{}):
		return nil
	}
	return &m.Config.Process
}

// foreign reports whether the process is the host of a foreign store.
func (m *process) foreign() bool { return metrics.RunNode{Role: m.Role, Config: m.Config}.Foreign() }

// message is an event of a node's process, a violation of the protocol (err), or its
// end. One from no process says that the kill of --restart-at is due.
type message struct {
	from  *process
	pair  *opening  // the wish of the other trial of a pair, from no process
	at    time.Time // when it arrived
	event node.Event
	err   error
	ended bool // err is then the error of its exit
	read  bool // from no process: a reading of all is due
}

// start starts the process. Its messages arrive in inbox, its end last.
func (m *process) start(runner *remote.Runner, inbox chan<- message) (err error) {
	m.cmd, m.stdin, err = runner.Start(m.Place, node.ControlFlag, remote.Output{
		Line:  func(line []byte) error { return m.read(line, inbox) },
		Error: func(line []byte) error { return m.log.line("stderr: " + string(line)) },
		Ended: func(err error) { inbox <- message{from: m, err: err, ended: true} },
	})
	return err
}

// read processes one line of the process's standard output. A login shell's start-up
// files may print lines before the first event; after it, every line must be an event.
func (m *process) read(line []byte, inbox chan<- message) error {
	var event node.Event
	at := time.Now()
	err := json.Unmarshal(line, &event)
	m.said += len(line)
	switch {
	case m.contained && err == nil && (event.Event == node.Contained && event.PeakBytes == 0) == m.spoken: // the first event, and no other
		err = fmt.Errorf("sent %q out of turn", event.Event)
	case m.contained && m.said > mostSaid:
		err = fmt.Errorf("has sent more than %s", format.Bytes(mostSaid))
	case err == nil:
		err = m.keep(event)
	case !m.spoken:
		return m.log.line("stdout: " + string(line))
	default:
		err = errors.Join(fmt.Errorf("sent a line that is no event: %.80q", line), m.log.line("stdout: "+string(line)))
	}
	m.spoken = true
	inbox <- message{from: m, at: at, event: event, err: err}
	return nil
}

// mostSaid is the number of bytes that a contained node may send: a submitted program may
// send without end. A node sends some 2 kB each second.
const mostSaid = 256e6

// keep writes an event's report to the node's log.
func (m *process) keep(event node.Event) error {
	switch event.Event {
	case node.Log:
		return m.log.line(event.Text)
	case node.Output:
		return m.log.output(event.Text)
	case node.Error:
		return m.log.line("error: " + event.Text)
	case node.Report:
		if r := event.Record; r == nil || r.Node != m.Name || r.Role != m.Role {
			return fmt.Errorf("sent a record that is not its own: %+v", r)
		}
		if event.Record.Slice == nil { // a slice is verified and forgotten
			return m.log.record(event.Record)
		}
	}
	return nil
}

// send sends a command. A node answers every question before it obeys the next one that moves
// it to another stage.
func (m *process) send(command node.Command) {
	if !slices.Contains([]string{node.Clock, node.Beat, node.Dump}, command.Do) {
		m.owed = len(m.questions)
	}
	remote.Send(m.stdin, command)
}

// kill kills a running process and its children. For a node on another machine, that is
// only the connection.
func (m *process) kill() {
	m.orphan = true
	m.cmd.Signal(syscall.SIGKILL)
}

// end records the process's end.
func (m *process) end(err error) *plan.Fault {
	worked := m.stage == done
	m.stage = left
	m.stdin.Close()
	var exit *exec.ExitError
	switch {
	case m.failed || worked && err == nil:
		return nil
	case err == nil:
		return m.fault(plan.Crash, "left before its work was done")
	case !errors.As(err, &exit):
		return cmp.Or(diskFault(err), m.fault(plan.Crash, "%v", err))
	}
	// A program that exits regularly after an error has status 1. Another status may be
	// that of a lost connection, and the program may still be there.
	if exit.ExitCode() != 1 {
		m.orphan = true
	}
	status, _ := exit.Sys().(syscall.WaitStatus)
	return cmp.Or(diskFault(err), m.fault(plan.Crash, "%s", m.way.Death(status, m.log.last())))
}

// keepRecord keeps the parts of a record that the end of the run needs.
func (m *process) keepRecord(r *metrics.Record) {
	m.Add(*r)
	switch {
	case r.Violation != nil:
		m.broken = r.Violation
	case r.Slice != nil:
		if len(m.slices) < mostSlices {
			m.slices = append(m.slices, *r.Slice)
		}
	case r.Interval != nil:
		m.interval = *r.Interval
	}
}

// arrive keeps what the launcher heard of the process at a moment of run time, and records
// it in the node's file.
func (m *process) arrive(at time.Time, a metrics.Arrival) {
	r := metrics.Record{Node: m.Name, Role: m.Role, Time: at, Arrival: &a}
	m.Add(r)
	m.unwritten = cmp.Or(m.unwritten, m.log.record(&r))
}

// complaint returns the fault behind an error about the process's output.
func (m *process) complaint(err error) *plan.Fault {
	return cmp.Or(diskFault(err), m.fault(plan.Complaint, "%v", err))
}

// fault returns a fault of this process.
func (m *process) fault(kind plan.Kind, layout string, args ...any) *plan.Fault {
	reason := fmt.Sprintf(layout, args...)
	if m.log != nil { // the process has begun
		if met := m.log.met(); met != "" && !strings.Contains(reason, met) {
			reason += "; " + met
		}
	}
	return &plan.Fault{Node: m.Name, Role: m.Role, Kind: kind, Reason: format.Label(format.OneLine(reason), mostReason)}
}

// mostReason is the number of characters of a fault's reason: a submitted program may have
// written it.
const mostReason = 2000
