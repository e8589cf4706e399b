package trial

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"kvlab/kvs/cluster/plan"
)

// Explain writes every fault, and the last log lines of the node that the verdict
// names. It omits interrupts, failed preflights, which are already reported, and wrong
// arguments, which are usage errors.
func (c *Controller) Explain(w io.Writer, ended error) {
	var f *plan.Fault
	if errors.Is(ended, plan.ErrInterrupted) || errors.As(ended, &f) && f.Kind == plan.BadArgs || c.Preflight.Failed() {
		return
	}
	fmt.Fprintln(w, ended)
	node := VerdictOf(ended).Node
	for _, m := range c.processes {
		if m.Name != node {
			continue
		}
		if lines := m.log.last(); len(lines) > 0 {
			fmt.Fprintf(w, "--- last lines of %s-%s.log:\n%s\n---\n", m.Program(), m.Name, strings.Join(lines, "\n"))
		}
	}
}
