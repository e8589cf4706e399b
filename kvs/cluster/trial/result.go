package trial

import (
	"cmp"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"maps"
	"strconv"
	"strings"

	"kvlab/kvs/cluster/plan"
	"kvlab/kvs/verdict/stages"
	"kvlab/metrics"
	"kvlab/metrics/account"
	"kvlab/metrics/format"
)

// Fill copies the processes' reports into run.
func (c *Controller) Fill(run *metrics.Run) {
	run.Symmetric = c.Plan.Symmetric
	run.Preflight, run.Contained = c.Preflight, c.Contained
	for _, place := range c.Plan.Places {
		node := metrics.RunNode{Name: place.Name, Role: place.Role, Machine: place.Node.Name, Address: cmp.Or(place.Listen, place.Data)}
		run.Nodes = append(run.Nodes, node)
	}
	for i, m := range c.processes {
		run.Nodes[i].Address, run.Nodes[i].PeakBytes = cmp.Or(m.address, run.Nodes[i].Address), m.peak
	}
	account.Fill(run, reportsOf(c.processes), c.Soak > 0)
	run.ValueKey = c.values
	run.Choice = fmt.Sprintf("%016x", newSecret())
	run.Asked = c.asks()
	run.Latency = c.latency.Window.Quantiles()
	run.Stages, run.Unrecovered = stages.Of(*run, c.latency.Window)
	run.Check = c.together
}

// asks returns the final flags of each role as the launcher wants them.
func (c *Controller) asks() map[metrics.Role]metrics.Settings {
	asked := maps.Clone(c.Asked)
	if client := asked[metrics.Client]; c.batch > 0 && client != nil {
		client = maps.Clone(client)
		client[batchFlag] = strconv.FormatUint(c.batch, 10)
		asked[metrics.Client] = client
	}
	return asked
}

// reportsOf returns the accounts of processes.
func reportsOf(processes []*process) (all []*account.Reported) {
	for _, m := range processes {
		all = append(all, &m.Reported)
	}
	return all
}

// VerdictOf returns the verdict on a run that err ended.
func VerdictOf(err error) metrics.Verdict {
	if errors.Is(err, plan.ErrInterrupted) {
		return metrics.Verdict{Check: plan.OutsideCheck, Reason: plan.ErrInterrupted.Error()}
	}
	var f *plan.Fault
	if errors.As(err, &f) {
		v := metrics.Verdict{Check: f.Kind.String(), Reason: f.Reason, Node: f.Node}
		if f.Outside {
			v.Check = plan.OutsideCheck
		}
		return v
	}
	return metrics.Verdict{Check: plan.OutsideCheck, Reason: format.OneLine(err.Error())}
}

// Explain writes the faults of a run that ended which its verdict leaves out. With detail it
// writes all faults, where the stacks of a node's goroutines are, and the log lines before
// these stacks of the node that the verdict names. It omits interrupts, failed preflights,
// which are already reported, and wrong arguments, which are usage errors.
func (c *Controller) Explain(w io.Writer, ended error, detail bool) {
	var f *plan.Fault
	fault := errors.As(ended, &f)
	if errors.Is(ended, plan.ErrInterrupted) || fault && f.Kind == plan.BadArgs || c.Preflight.Failed() {
		return
	}
	text := ended.Error()
	if fault && !detail {
		text = strings.TrimPrefix(strings.TrimPrefix(text, f.Error()), "\n")
	}
	if text != "" && (fault || detail) {
		fmt.Fprintln(w, text)
	}
	node := VerdictOf(ended).Node
	for _, m := range c.processes {
		if m.Name != node {
			continue
		}
		lines, stacks := m.log.readable()
		if stacks != "" && detail {
			fmt.Fprintf(w, "the stacks of its goroutines are in %s\n", stacks)
		}
		if len(lines) > 0 && detail {
			fmt.Fprintf(w, "--- last lines of %s-%s.log:\n", m.Program(), m.Name)
			for _, line := range lines { // a submitted program's may have bytes that move a terminal's cursor
				fmt.Fprintln(w, format.Label(strings.ReplaceAll(line, "\t", "    "), mostReason))
			}
			fmt.Fprintln(w, "---")
		}
	}
}

// newSecret returns 63 random bits. It is not 0.
func newSecret() uint64 {
	var secret [8]byte
	_, _ = rand.Read(secret[:]) // never fails
	return binary.LittleEndian.Uint64(secret[:]) | 1
}

// Audited returns what the clients read after the drain, and the secret that selected it,
// in hex.
func (c *Controller) Audited() (secret string, records []metrics.AuditRecord) {
	return fmt.Sprintf("%016x", c.secret), account.Audits(reportsOf(c.processes))
}
