package preflight

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"kvlab/kvs/cluster/plan"
	"kvlab/kvs/node"
	"kvlab/metrics"
	"kvlab/metrics/format"
)

// The bounds beyond which a fact is a finding.
const (
	warnClockS = 1.0 // the error of a machine without a time server after some days
	lowBytes   = uint64(1_000_000_000)
	lowDisk    = uint64(100_000_000)
	fastRTT    = 1000.0 // us: no link inside a cluster takes longer
	slowRTT    = 10.0   // times the median
)

// page documents the remedy for each fact.
const page = "docs/cluster.md"

// look has the command that shows each fact on its machine.
var look = map[string]string{
	"reach":    "uname -a",
	"data":     "ip -br address",
	"port":     "sudo ss -ltnp",
	"leftover": "ps -fC kvsserver,kvsclient",
	"files":    "ulimit -n",
	"memory":   "ps aux --sort=-rss",
	"governor": "cat /sys/devices/system/cpu/cpu0/cpufreq/scaling_governor",
	"disk":     "df -h",
	"cpu":      "lscpu",
	"kernel":   "uname -r",
	"link":     "ip -br link",
	"clock":    "timedatectl",
	"rtt":      "ip route",
}

// findings assesses the results of a survey.
func findings(machines []*machine, rtts []metrics.RTT, n plan.Needs) []metrics.Finding {
	var all []metrics.Finding
	for _, m := range machines {
		a := assessment{machine: m, needs: n}
		a.assess()
		all = append(all, a.findings...)
	}
	all = append(all, differences(machines)...)
	all = append(all, clockFindings(machines)...)
	return append(all, rttFindings(machines, rtts)...)
}

// finding returns a finding about the machine.
func (m *machine) finding(grade metrics.Grade, fact, layout string, args ...any) metrics.Finding {
	return metrics.Finding{
		Node: m.Name(), Role: m.Roles[0], Fact: fact, Grade: grade,
		Text: format.OneLine(fmt.Sprintf(layout, args...)), Type: m.way.Typed(m.place.Node, look[fact]),
	}
}

// assessment collects the findings about one machine.
type assessment struct {
	*machine
	needs    plan.Needs
	findings []metrics.Finding
}

func (a *assessment) add(grade metrics.Grade, fact, layout string, args ...any) {
	a.findings = append(a.findings, a.finding(grade, fact, layout, args...))
}

func (a *assessment) assess() {
	if a.err != nil {
		a.unreached()
		return
	}
	a.network()
	for _, p := range a.Facts.Ports {
		a.port(p)
	}
	for _, p := range a.Facts.Processes {
		a.process(p)
	}
	a.resources()
	a.files()
}

// unreached adds the finding of a machine that did not answer.
func (a *assessment) unreached() {
	reason := a.err.Error()
	var f *plan.Fault // of one of its nodes
	if errors.As(a.err, &f) {
		reason = f.Reason
	}
	a.add(metrics.Fail, "reach", "%s", reason)
	if f != nil {
		a.findings[0].Node, a.findings[0].Role = f.Node, f.Role
	}
}

// network assesses the data network.
func (a *assessment) network() {
	if a.dataErr != "" {
		a.add(metrics.Fail, "data", "the data address %s cannot be used: %s", a.place.Data, a.dataErr)
		return
	}
	control := a.Facts.Control.Name
	if control == "" || a.Facts.Data.Name != control {
		return
	}
	grade, whose := metrics.Fail, "the control network's interface"
	if a.Facts.ControlGuessed {
		grade, whose = metrics.Warn, "the default route's interface, though there is another"
	}
	if a.needs.Public {
		grade = metrics.Warn
	}
	a.add(grade, "data", "the data address %s is on %s, %s", a.place.Data, control, whose)
}

// port assesses a server's listen address.
func (a *assessment) port(p metrics.Port) {
	if p.Error == "" {
		return
	}
	text := p.Error
	var owners []string
	for _, o := range p.Owners {
		owners = append(owners, describeProcess(o))
	}
	if len(owners) > 0 {
		text = fmt.Sprintf("%s is taken by %s", p.Address, strings.Join(owners, " and "))
	}
	a.add(metrics.Fail, "port", "%s", text)
}

// describeProcess returns a process's owner and age.
func describeProcess(p metrics.Process) string {
	if p.PID == 0 {
		return fmt.Sprintf("a process of %s that only root can see", p.User)
	}
	text := fmt.Sprintf("process %d (%s of %s", p.PID, cmp.Or(p.Name, "unnamed"), p.User)
	if !p.Started.IsZero() {
		text += fmt.Sprintf(", since %s, %s ago", p.Started.Format("Jan 2 15:04:05"), time.Since(p.Started).Round(time.Second))
	}
	text += ")"
	if p.Stopped {
		text += ", stopped by a signal"
	}
	return text
}

// process assesses a running kvlab program: an orphan is left over from an earlier run,
// any other belongs to another run.
func (a *assessment) process(p metrics.Process) {
	if p.Orphaned {
		a.add(metrics.Fail, "leftover", "an earlier run has left %s", describeProcess(p))
	} else {
		a.add(metrics.Warn, "leftover", "another run is under way: %s", describeProcess(p))
	}
}

// resources assesses memory, cores and open files.
func (a *assessment) resources() {
	memory := a.Facts.Host.MemoryAvailableBytes
	servers := uint64(0)
	for _, role := range a.Roles {
		if role == metrics.Server {
			servers++
		}
		if need := a.needs.OpenFiles[role]; need > a.Facts.OpenFilesLimit {
			a.add(metrics.Fail, "files", "a %s needs %d open files, and %d is the limit", role, need, a.Facts.OpenFilesLimit)
		}
	}
	switch need := servers * a.needs.Bytes; {
	case need > memory:
		a.add(metrics.Fail, "memory", "the values alone take %s, and %s are available", format.Bytes(need), format.Bytes(memory))
	case memory < lowBytes:
		a.add(metrics.Warn, "memory", "only %s of memory are available", format.Bytes(memory))
	}
	slow := slices.DeleteFunc(slices.Clone(a.Facts.Governors), func(name string) bool { return name == "performance" })
	if len(slow) > 0 {
		a.add(metrics.Warn, "governor", "the cores' frequency governor is %s", strings.Join(slow, ", "))
	}
}

// files assesses the folder of the programs. A node's folder on a network file system is
// refused before a program is copied to it.
func (a *assessment) files() {
	if node.OnNetwork(a.Facts.FileSystem) {
		a.add(metrics.Warn, "disk", "the programs are on a network file system (%s)", a.Facts.FileSystem)
	}
	if free := a.Facts.FreeBytes; free < lowDisk {
		a.add(metrics.Warn, "disk", "only %s are free in %s", format.Bytes(free), a.Facts.Folder)
	}
}
