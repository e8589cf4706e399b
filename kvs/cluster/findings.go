package cluster

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"kvlab/kvs/cluster/nodes"
	"kvlab/kvs/cluster/plan"
	"kvlab/kvs/node"
	"kvlab/metrics"
	"kvlab/metrics/format"
)

// The bounds beyond which a fact is a finding.
const (
	warnClockS = 1.0 // what a machine without a time server is off by after some days
	lowBytes   = uint64(1_000_000_000)
	lowDisk    = uint64(100_000_000)
	fastRTT    = 1000.0 // us: no link inside a cluster takes longer
	slowRTT    = 10.0   // times the median
)

// findings judges what a survey has found out.
func findings(sites []*site, rtts []metrics.RTT, n plan.Needs) []metrics.Finding {
	var all []metrics.Finding
	for _, s := range sites {
		j := judgement{site: s, needs: n}
		j.judge()
		all = append(all, j.findings...)
	}
	all = append(all, unlike(sites)...)
	all = append(all, clockFindings(sites)...)
	return append(all, rttFindings(sites, rtts)...)
}

// judgement is what is found of one site.
type judgement struct {
	*site
	needs    plan.Needs
	findings []metrics.Finding
}

func (s *site) finding(grade metrics.Grade, fact, advice, layout string, args ...any) metrics.Finding {
	return metrics.Finding{
		Node: s.Name(), Role: s.Roles[0], Fact: fact, Grade: grade,
		Text: format.OneLine(fmt.Sprintf(layout, args...)), Type: advice,
	}
}

func (j *judgement) add(grade metrics.Grade, fact, advice, format string, args ...any) {
	j.findings = append(j.findings, j.finding(grade, fact, advice, format, args...))
}

func (j *judgement) judge() {
	if j.err != nil {
		j.unreached()
		return
	}
	j.network()
	for _, p := range j.Facts.Ports {
		j.port(p)
	}
	for _, p := range j.Facts.Processes {
		j.process(p)
	}
	j.resources()
	j.files()
}

// unreached is the finding of a machine of which nothing is known.
func (j *judgement) unreached() {
	reason := j.err.Error()
	var f *plan.Fault // of one of its nodes
	if errors.As(j.err, &f) {
		reason = f.Reason
	}
	j.add(metrics.Fail, "reach", j.adviceOnReach(reason), "%s", reason)
	if f != nil {
		j.findings[0].Node, j.findings[0].Role = f.Node, f.Role
	}
}

// on is a command as it is typed here to run on the site's machine.
func (j *judgement) on(command string) string { return j.site.on(command) }

func (s *site) on(command string) string { return s.way.Typed(s.place.Node, command) }

// adviceOnReach is what to type when a machine cannot be reached or prepared.
func (j *judgement) adviceOnReach(reason string) string {
	has := func(text string) bool { return strings.Contains(reason, text) }
	switch {
	case j.place.Way.Kind == nodes.Srun:
		return "scontrol show node " + j.place.Node.Name
	case has("Permission denied"):
		return "ssh-copy-id " + j.place.Way.To + ", or on CloudLab geni-get key >~/.ssh/id_rsa && chmod 600 ~/.ssh/id_rsa"
	case has("Host key verification failed"), has("REMOTE HOST IDENTIFICATION HAS CHANGED"):
		return "ssh-keygen -R " + j.place.Node.Name + ", if the node was set up anew"
	case has("Could not resolve"):
		return "write a file for --hosts, with ssh=user@address for this node"
	case has("belongs to somebody else"):
		return j.on("ls -ld '/tmp/kvlab-*'") + ", and have its owner remove it"
	case has("network file system"):
		return j.on("sudo mount -t tmpfs tmpfs /tmp")
	case has("No space left"):
		return j.on("df -h /tmp")
	case has("machine, and the programs"):
		return "name only nodes of one kind: --nodes"
	}
	return j.on("uname -a") + ", until it answers"
}

// network judges the way that the data takes.
func (j *judgement) network() {
	if j.dataErr != "" {
		j.add(metrics.Fail, "data", j.on("ip -br address")+", and give the node's own as addr= in a --hosts file",
			"the data address %s will not do: %s", j.place.Data, j.dataErr)
		return
	}
	control := j.Facts.Control.Name
	if control == "" || j.Facts.Data.Name != control {
		return
	}
	grade, whose := metrics.Fail, "the control network's interface"
	if j.Facts.ControlGuessed {
		grade, whose = metrics.Warn, "the default route's interface, though there is another"
	}
	if j.needs.Public {
		grade = metrics.Warn
	}
	j.add(grade, "data", j.on("ip -br address")+", and give the experiment network's as addr= in a --hosts file",
		"the data address %s is on %s, %s", j.place.Data, control, whose)
}

// port judges an address that a server is to listen on.
func (j *judgement) port(p metrics.Port) {
	if p.Error == "" {
		return
	}
	var owners []string
	advice := j.on("sudo ss -ltnp")
	for _, o := range p.Owners {
		owners = append(owners, describeProcess(o))
		if o.PID != 0 {
			advice = j.on(fmt.Sprintf("kill %d", o.PID))
		}
	}
	switch {
	case len(owners) > 0:
		j.add(metrics.Fail, "port", advice, "%s is taken by %s", p.Address, strings.Join(owners, " and "))
	default:
		j.add(metrics.Fail, "port", advice, "%s", p.Error)
	}
}

// describeProcess says whose a process is, and how old.
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

// process judges a program of ours that runs already: nobody's is left over,
// somebody's is another run.
func (j *judgement) process(p metrics.Process) {
	switch {
	case p.Orphaned:
		j.add(metrics.Fail, "leftover", "./run-cluster.sh --reap, with the same nodes", "an earlier run has left %s", describeProcess(p))
	default:
		j.add(metrics.Warn, "leftover", j.on(fmt.Sprintf("ps -fp %d", p.PID)), "another run is under way: %s", describeProcess(p))
	}
}

// resources judges memory, cores and open files.
func (j *judgement) resources() {
	memory := j.Facts.Host.MemoryAvailableBytes
	servers := uint64(0)
	for _, role := range j.Roles {
		if role == metrics.Server {
			servers++
		}
		if need := j.needs.OpenFiles[role]; need > j.Facts.OpenFilesLimit {
			j.add(metrics.Fail, "files", fmt.Sprintf("%s, then log in anew", j.on(fmt.Sprintf("'echo \"* - nofile %d\" | sudo tee -a /etc/security/limits.conf'", need))),
				"a %s needs %d open files, and %d is the limit", role, need, j.Facts.OpenFilesLimit)
		}
	}
	switch need := servers * j.needs.Bytes; {
	case need > memory:
		j.add(metrics.Fail, "memory", `--client-args "-records N" with a smaller N, or more servers`,
			"the values alone take %s, and %s are available", gigabytes(need), gigabytes(memory))
	case memory < lowBytes:
		j.add(metrics.Warn, "memory", j.on("ps aux --sort=-rss"), "only %s of memory are available", gigabytes(memory))
	}
	slow := slices.DeleteFunc(slices.Clone(j.Facts.Governors), func(name string) bool { return name == "performance" })
	if len(slow) > 0 {
		j.add(metrics.Warn, "governor", j.on("'echo performance | sudo tee /sys/devices/system/cpu/cpu*/cpufreq/scaling_governor'"),
			"the cores' frequency governor is %s: speeds vary with the load", strings.Join(slow, ", "))
	}
}

// files judges the folder of the programs.
func (j *judgement) files() {
	if node.OnNetwork(j.Facts.FileSystem) {
		// The nodes' own folders are refused before anything is copied there.
		j.add(metrics.Warn, "disk", "git clone to a local disk, and run from there",
			"the programs are on a network file system (%s), whose traffic is in the way of the run's", j.Facts.FileSystem)
	}
	if free := j.Facts.FreeBytes; free < lowDisk {
		j.add(metrics.Warn, "disk", j.on("df -h "+j.Facts.Folder), "only %s are free in %s", gigabytes(free), j.Facts.Folder)
	}
}

// gigabytes is a number of bytes as people read it.
func gigabytes(bytes uint64) string {
	if bytes < lowBytes {
		return fmt.Sprintf("%.0f MB", float64(bytes)/1e6)
	}
	return fmt.Sprintf("%.1f GB", float64(bytes)/1e9)
}
