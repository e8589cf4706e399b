package serial

import (
	"fmt"
	"strings"
)

// fault returns a fault of one or two operations' attempts, T1 and T2. The format begins with
// the key of the first operation and what it read, or else wrote.
func (c *checker) fault(anomaly Anomaly, i, other int32, format string) *Fault {
	o := c.op(i)
	value := o.Wrote
	if o.Reads {
		value = o.Read
	}
	attempts := []int32{c.owner[i]}
	if other >= 0 {
		attempts = append(attempts, c.owner[other])
	}
	return c.named(anomaly, attempts, fmt.Sprintf(format, c.h.Keys[o.Key], value))
}

// named returns a fault of attempts T1, T2 and so on.
func (c *checker) named(anomaly Anomaly, attempts []int32, what string) *Fault {
	f := &Fault{Anomaly: anomaly}
	var who []string
	for i, a := range attempts {
		t := c.h.Attempts[a]
		f.Part = append(f.Part, t)
		who = append(who, fmt.Sprintf("T%d is transaction %d of worker %d of client %d, attempt %d, %s", i+1, t.Number, t.Worker, t.Client, t.Try+1, t.Outcome))
	}
	f.Why = fmt.Sprintf("%s: %s. %s", anomaly, what, strings.Join(who, ". "))
	return f
}

// reasons says why one attempt comes before another one, by the kind of an edge.
var reasons = map[kinds]string{
	writeWrite: "%[2]s replaced the %[3]s that %[1]s wrote",
	writeRead:  "%[2]s read the %[3]s that %[1]s wrote",
	readWrite:  "%[2]s replaced the %[3]s that %[1]s read",
	realTime:   "%[1]s had returned before %[2]s was called",
}

// cycleFault returns the fault of a cycle's edges. A chain of barriers is one reason.
func (c *checker) cycleFault(anomaly Anomaly, cycle []int32) *Fault {
	attempts, isBarrier := []int32(nil), func(node int32) bool { return int(node) >= len(c.h.Attempts) }
	for _, i := range cycle {
		if from := c.edges[i].from; !isBarrier(from) {
			attempts = append(attempts, from)
		}
	}
	var why []string
	for _, i := range cycle {
		e := c.edges[i]
		if isBarrier(e.to) {
			continue
		}
		n := len(why) // it ends at the attempt after the n-th
		t, next := fmt.Sprintf("T%d", n+1), fmt.Sprintf("T%d", (n+1)%len(attempts)+1)
		why = append(why, fmt.Sprintf(reasons[e.kind], t, next, c.h.Keys[e.key]))
		if e.kind == readWrite {
			for w := c.first[e.to]; w < c.first[e.to+1]; w++ {
				if o := c.op(w); o.Key == e.key && o.Wrote != 0 && c.final(w) && c.skipped(e.from, w) {
					return c.partial(c.first[e.from], w)
				}
			}
		}
	}
	return c.named(anomaly, attempts, strings.Join(why, "; "))
}
