package preflight

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"kvlab/kvs/cluster/nodes"
	"kvlab/kvs/cluster/plan"
	"kvlab/kvs/node"
	"kvlab/metrics"
	"kvlab/metrics/format"
	"kvlab/metrics/stats"
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
	a := assessment{needs: n}
	for _, m := range machines {
		a.assess(m)
	}
	a.differences(machines)
	a.clocks(machines)
	a.rtts(machines, rtts)
	return a.findings
}

// assessment collects the findings about all machines.
type assessment struct {
	needs    plan.Needs
	findings []metrics.Finding
}

// add adds a finding about a machine.
func (a *assessment) add(m *machine, grade metrics.Grade, fact, layout string, args ...any) {
	a.findings = append(a.findings, metrics.Finding{
		Node: m.Name(), Role: m.Roles[0], Fact: fact, Grade: grade,
		Text: format.OneLine(fmt.Sprintf(layout, args...)), Type: m.way.Typed(m.place.Node, look[fact]),
	})
}

func (a *assessment) assess(m *machine) {
	if m.err != nil {
		f := &plan.Fault{Node: m.Name(), Role: m.Roles[0], Reason: m.err.Error()}
		errors.As(m.err, &f) // of one of the machine's nodes
		a.add(m, metrics.Fail, "reach", "%s", f.Reason)
		last := &a.findings[len(a.findings)-1]
		last.Node, last.Role = f.Node, f.Role
		return
	}
	a.network(m)
	for _, p := range m.Facts.Ports {
		a.port(m, p)
	}
	for _, p := range m.Facts.Processes {
		// An orphan is left over from an earlier run, any other belongs to another run.
		if p.Orphaned {
			a.add(m, metrics.Fail, metrics.Leftover, "an earlier run has left %s", describeProcess(p))
		} else {
			a.add(m, metrics.Warn, metrics.Leftover, "another run is under way: %s", describeProcess(p))
		}
	}
	a.resources(m)
}

// network assesses the data network.
func (a *assessment) network(m *machine) {
	if m.dataErr != "" {
		a.add(m, metrics.Fail, "data", "the data address %s cannot be used: %s", m.place.Data, m.dataErr)
		return
	}
	control := m.Facts.Control.Name
	if control == "" || m.Facts.Data.Name != control {
		return
	}
	grade, whose := metrics.Fail, "the control network's interface"
	if m.Facts.ControlGuessed {
		grade, whose = metrics.Warn, "the default route's interface, though there is another"
	}
	if a.needs.Public {
		grade = metrics.Warn
	}
	right := ""
	for _, address := range m.Facts.Others {
		right += fmt.Sprintf("; want the line %q in a --hosts file", strings.Join(format.NonEmpty(m.place.Node.Name, sshOf(m.place.Node), "addr="+address), " "))
	}
	a.add(m, grade, "data", "the data address %s is on %s, %s%s", m.place.Data, control, whose, right)
}

// sshOf returns the field of a line in a --hosts file that says how a node is reached; "" if
// its name says it.
func sshOf(n nodes.Node) string {
	if n.Way.Kind != nodes.SSH || n.Way.To == n.Name && n.Way.Port == "" {
		return ""
	}
	return strings.TrimSuffix("ssh="+n.Way.To+":"+n.Way.Port, ":")
}

// port assesses a server's listen address.
func (a *assessment) port(m *machine, p metrics.Port) {
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
	a.add(m, metrics.Fail, "port", "%s", text)
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

// resources assesses open files, memory, cores and the disk.
func (a *assessment) resources(m *machine) {
	memory := m.Facts.Host.MemoryAvailableBytes
	stores := uint64(0)
	for _, role := range m.Roles {
		if role == metrics.Server {
			stores += a.needs.Bytes
		}
		if need := a.needs.OpenFiles[role]; need > m.Facts.OpenFilesLimit {
			a.add(m, metrics.Fail, "files", "a %s needs %d open files, and %d is the limit", role, need, m.Facts.OpenFilesLimit)
		}
	}
	switch {
	case stores > memory:
		a.add(m, metrics.Fail, "memory", "%s take %s, and %s are available", a.needs.Of, format.Bytes(stores), format.Bytes(memory))
	case memory < lowBytes:
		a.add(m, metrics.Warn, "memory", "only %s of memory are available", format.Bytes(memory))
	}
	slow := slices.DeleteFunc(slices.Clone(m.Facts.Governors), func(name string) bool { return name == "performance" })
	if len(slow) > 0 {
		a.add(m, metrics.Warn, "governor", "the cores' frequency governor is %s", strings.Join(slow, ", "))
	}
	// A node's folder on a network file system is refused before a program is copied to
	// it.
	if node.OnNetwork(m.Facts.FileSystem) {
		a.add(m, metrics.Warn, "disk", "the programs are on a network file system (%s)", m.Facts.FileSystem)
	}
	if free := m.Facts.FreeBytes; free < lowDisk {
		a.add(m, metrics.Warn, "disk", "only %s are free in %s", format.Bytes(free), m.Facts.Folder)
	}
}

// differences reports the machines that differ from the first: a benchmark of unequal
// nodes measures the slowest.
func (a *assessment) differences(machines []*machine) {
	var first *machine
	for _, m := range machines {
		if m.err != nil {
			continue
		}
		first = cmp.Or(first, m)
		for _, fact := range []struct{ name, own, first string }{
			{"cpu", cpuText(m.Facts), cpuText(first.Facts)},
			{"kernel", m.Facts.Host.Kernel, first.Facts.Host.Kernel},
			{"link", linkText(m.Facts.Data), linkText(first.Facts.Data)},
		} {
			if fact.own != fact.first {
				a.add(m, metrics.Warn, fact.name, "has %s, and %s has %s", fact.own, first.Name(), fact.first)
			}
		}
	}
}

func cpuText(f *metrics.Facts) string {
	return fmt.Sprintf("%s, %d cores", cmp.Or(f.Host.CPUModel, "an unnamed processor"), f.Host.Cores)
}

func linkText(l metrics.Link) string {
	speed := "speed unknown"
	if l.BitsPerS > 0 {
		speed = fmt.Sprintf("%g Gb/s", float64(l.BitsPerS)/1e9)
	}
	return fmt.Sprintf("%s, MTU %d", speed, l.MTUBytes)
}

// clocks compares the wall clocks with their median. No figure depends on them,
// but the machines' other logs are comparable only if they agree.
func (a *assessment) clocks(machines []*machine) {
	measured := slices.DeleteFunc(slices.Clone(machines), func(m *machine) bool { return m.ClockBefore == nil })
	byOffset := func(a, b *machine) int { return cmp.Compare(a.ClockBefore.OffsetS, b.ClockBefore.OffsetS) }
	sorted := slices.SortedFunc(slices.Values(measured), byOffset)
	for _, m := range measured {
		ahead := m.ClockBefore.OffsetS - sorted[(len(sorted)-1)/2].ClockBefore.OffsetS
		way := "ahead of"
		if ahead < 0 {
			way = "behind"
		}
		if math.Abs(ahead)-m.ClockBefore.BoundS > warnClockS {
			a.add(m, metrics.Warn, "clock", "its wall clock is %.3f s %s the others", math.Abs(ahead), way)
		}
	}
}

// rtts reports missing paths between machines, and those with much longer round
// trips than the others.
func (a *assessment) rtts(machines []*machine, rtts []metrics.RTT) {
	var times []float64
	for _, r := range rtts {
		if r.Err == "" {
			times = append(times, r.US)
		}
	}
	median := stats.Median(times)
	for _, r := range rtts {
		from := machines[slices.IndexFunc(machines, func(m *machine) bool { return m.Name() == r.From })]
		switch {
		case r.Err != "":
			a.add(from, metrics.Fail, "rtt", "cannot reach %s over the data network: %s", r.To, r.Err)
		case r.US > fastRTT && r.US > slowRTT*median:
			a.add(from, metrics.Warn, "rtt", "is %.1f ms away from %s, and most nodes are %.2f ms apart", r.US/1e3, r.To, median/1e3)
		}
	}
}
