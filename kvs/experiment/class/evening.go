package class

import (
	"fmt"
	"slices"
	"time"

	"kvlab/kvs/experiment"
	"kvlab/kvs/verdict"
	"kvlab/metrics"
	"kvlab/metrics/format"
	"kvlab/metrics/stats"
)

const (
	// mostFailures is the number of rounds in which an entry fails a gate before it is left
	// out of the later ones.
	mostFailures = 2
	// mostRepeats is the number of times that a disturbed trial is made again in its round.
	mostRepeats = 2
	// disturbed is the other work on a machine, in per cent of its processors, from which a
	// trial is made again. A store that needs all processors loses as much throughput.
	disturbed = 10.0
	// fewestRounds have a rank when the budget ends: fewer have no interval.
	fewestRounds = stats.RatioTrials
)

// evening is what the trials of a class say of its course. It depends only on the plan and
// the trials.
type evening struct {
	plan     metrics.Sweep
	again    map[int]bool                 // the numbers of the trials to be made again
	rounds   []map[string][]metrics.Trial // of each round by entry, in the order of the trials
	complete int                          // number of complete rounds
	failures map[string][]failure         // of the complete rounds, by entry
	left     []metrics.PlannedTrial       // of the round under way
	ended    string                       // why no further round is made
	deciding int                          // as in metrics.Standings
}

// failure is a trial that failed a gate.
type failure struct {
	number int
	check  string // as metrics.Verdict.Check
	reason string
}

func eveningOf(plan metrics.Sweep, done []metrics.Trial) *evening {
	e := &evening{plan: plan, again: experiment.Again(done), failures: make(map[string][]failure)}
	for _, t := range done {
		for len(e.rounds) < t.Round {
			e.rounds = append(e.rounds, make(map[string][]metrics.Trial))
		}
		e.rounds[t.Round-1][t.Point[0]] = append(e.rounds[t.Round-1][t.Point[0]], t)
	}
	for e.ended == "" {
		if e.left = e.leftOf(e.complete+1, len(done)); len(e.left) > 0 {
			break
		}
		e.close()
	}
	return e
}

// in are the trials of a round, 1 the first, by entry.
func (e *evening) in(round int) map[string][]metrics.Trial {
	if round > len(e.rounds) {
		return nil
	}
	return e.rounds[round-1]
}

// active are the entries that are measured in the round under way.
func (e *evening) active() []string {
	return slices.DeleteFunc(slices.Clone(e.plan.Knobs[0].Values), func(name string) bool { return e.out(name) })
}

func (e *evening) out(name string) bool { return len(e.failures[name]) >= mostFailures }

// invalid reports whether an entry has failed, or has nothing but a failure so far.
func (e *evening) invalid(name string) bool {
	return e.out(name) || len(e.failures[name]) > 0 && len(e.failures[name]) == e.complete
}

// leftOf returns the trials that remain of a round: those of its order, then those that
// were disturbed, again. made is the number of all trials so far.
func (e *evening) leftOf(round, made int) (left []metrics.PlannedTrial) {
	var points [][]string
	for _, name := range e.active() {
		points = append(points, []string{name})
	}
	trials := e.in(round)
	for _, again := range []bool{false, true} {
		for _, p := range experiment.Shuffle(points, e.plan.Seed, round, 0) {
			of := trials[p.Point[0]]
			number := made + 1
			switch last := len(of) - 1; {
			case last >= 0 && e.again[of[last].Number]:
				number = of[last].Number
			case !again && len(of) == 0 || again && len(of) <= mostRepeats && isDisturbed(of[last]):
				made++
			default:
				continue
			}
			left = append(left, metrics.PlannedTrial{Number: number, Round: round, Point: p.Point})
		}
		if len(left) > 0 {
			break
		}
	}
	return left
}

// isDisturbed reports whether the machines had other work during a trial. It says nothing
// of the trial's result. Where a process did not report, its work cannot be told from that
// of others.
func isDisturbed(t metrics.Trial) bool {
	if t.Run == nil || slices.ContainsFunc(t.Run.Nodes, func(n metrics.RunNode) bool { return n.Summary == nil }) {
		return false
	}
	percent, _ := verdict.OtherWork(*t.Run)
	return percent >= disturbed
}

// close ends a round: it notes the trials that failed, and whether the evening ends.
func (e *evening) close() {
	e.complete++
	trials := e.in(e.complete)
	for _, name := range e.active() {
		last := trials[name][len(trials[name])-1]
		if check, reason := e.fault(last); reason != "" {
			e.failures[name] = append(e.failures[name], failure{last.Number, check, reason})
		}
	}
	class := e.plan.Class
	settled := false
	if slices.Contains(class.Looks, e.complete) {
		e.deciding = e.complete
		pairs, names := e.pairs()
		settled = stats.Settled(pairs) && len(names) > 1
	}
	switch {
	case e.out(class.Reference):
		e.ended = "the reference failed: " + e.why(class.Reference)
	case len(e.active()) == 1:
		e.ended = "no entry is left"
	case settled:
		e.ended = "every pair of entries is told apart, or equal"
	case e.complete == class.Looks[len(class.Looks)-1]:
		e.ended = fmt.Sprintf("these were the last of %s", format.Plural(e.complete, "round"))
	case class.BudgetS > 0 && e.spent(1, e.complete)+e.spent(e.complete, e.complete) > class.BudgetS:
		e.ended = fmt.Sprintf("the budget of %.0f minutes leaves no time for another round", class.BudgetS/60)
		if e.complete >= fewestRounds {
			e.deciding = e.complete
		}
	}
}

// spent are the seconds that the trials of some rounds took. The time between interrupted
// commands is not counted.
func (e *evening) spent(from, to int) float64 {
	sum := time.Duration(0)
	for round := from; round <= to; round++ {
		for _, trials := range e.in(round) {
			for _, t := range trials {
				sum += t.Ended.Sub(t.Started)
			}
		}
	}
	return sum.Seconds()
}

// fault says which gate a trial fails; "" if it keeps all.
func (e *evening) fault(t metrics.Trial) (check, reason string) {
	class := e.plan.Class
	switch {
	case !t.Verdict.Valid:
		return t.Verdict.Check, t.Verdict.String()
	case t.Run == nil:
		return "", "" // only trials.json was read
	}
	for _, r := range verdict.AnswerOf(*t.Run).Reservations {
		if !slices.Contains(class.Allow, r.Name) && r.Name != verdict.Crowded { // no fault of the entry
			return verdict.Weakened, fmt.Sprintf("the reservation %s, which the class does not allow: %s", r.Name, r.Text)
		}
	}
	if largest := float64(t.Run.LargestServer()) / 1e6; class.MemoryMB > 0 && largest > class.MemoryMB {
		return verdict.Memory, fmt.Sprintf("a server held %.0f MB of memory, and the limit is %.0f MB", largest, class.MemoryMB)
	}
	return "", ""
}

// why names the gate that an entry failed first, and the trials that failed.
func (e *evening) why(name string) string {
	text := ""
	for i, f := range e.failures[name] {
		if i == 0 {
			text = fmt.Sprintf("trial %d: %s", f.number, f.reason)
		} else {
			text += fmt.Sprintf("; and trial %d", f.number)
		}
	}
	return text
}

// rates are the throughputs of an entry in the complete rounds; 0 where no trial counts.
func (e *evening) rates(name string) []float64 {
	rates := make([]float64, e.complete)
	for i := range rates {
		trials := e.rounds[i][name]
		if len(trials) == 0 {
			continue
		}
		last := trials[len(trials)-1]
		if !slices.ContainsFunc(e.failures[name], func(f failure) bool { return f.number == last.Number }) {
			rates[i] = last.OpsPerS
		}
	}
	return rates
}

// pairs compares the entries that are ranked, those that are not INVALID, up to the last
// look. It returns their names, too.
func (e *evening) pairs() (pairs []stats.Pair, names []string) {
	var values [][]float64
	for _, name := range e.active() {
		if name != e.plan.Class.Reference && !e.invalid(name) {
			values, names = append(values, e.rates(name)[:e.deciding]), append(names, name)
		}
	}
	return stats.Pairs(values, e.plan.Class.Alpha/float64(len(e.plan.Class.Looks)), e.plan.Class.Equal), names
}
