package evening

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"time"

	"kvlab/kvs/experiment"
	"kvlab/kvs/verdict"
	"kvlab/kvs/verdict/answer"
	"kvlab/kvs/verdict/bottleneck"
	"kvlab/metrics"
	"kvlab/metrics/format"
	"kvlab/metrics/stats"
)

const (
	// mostFailures is the number of rounds in which an entry fails a gate before it is left
	// out of the later ones, unless the store alone can fail it: then it is once.
	mostFailures = 2
	// disturbed is the other work on a machine, in per cent of its processors, that disturbs a
	// trial. A store that needs all processors loses as much throughput.
	disturbed = 10.0
	// mostDropped rounds, and one more for dropsOne that count, are dropped. So a machine that
	// is never at rest, and an entry that works beside its server, cost an evening of 24 rounds
	// no more than a quarter of its time and three rounds.
	mostDropped = 3
	dropsOne    = 4
	// fewestRounds have a rank when the budget ends: fewer have no interval.
	fewestRounds = stats.RatioTrials
)

// course is the course of a class, from its trials. It depends only on the plan and the
// trials.
type course struct {
	plan     metrics.Sweep
	again    map[int]bool                 // the numbers of the trials to be made again
	rounds   []map[string][]metrics.Trial // of each round by entry, in the order of the trials
	complete int                          // number of complete rounds
	kept     []int                        // those that count, by number
	dropped  []int                        // the others
	failures map[string][]failure         // of the complete rounds, by entry
	beside   []string                     // the subject's neighbours in rank, once a round has told them
	left     []metrics.PlannedTrial       // of the round under way
	ended    string                       // why no further round is made
	deciding int                          // as in metrics.Standings
}

// failure is a trial that failed a gate.
type failure struct {
	number  int
	verdict metrics.Verdict
}

func courseOf(plan metrics.Sweep, done []metrics.Trial) *course {
	e := &course{plan: plan, again: experiment.Again(done), failures: make(map[string][]failure)}
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

// in returns the trials of a round, 1 the first, by entry.
func (e *course) in(round int) map[string][]metrics.Trial {
	if round > len(e.rounds) {
		return nil
	}
	return e.rounds[round-1]
}

// active returns the entries that are measured in the round under way.
func (e *course) active() []string {
	return slices.DeleteFunc(slices.Clone(e.plan.Knobs[0].Values), func(name string) bool {
		return e.out(name) || e.besides(name) && !slices.Contains(e.beside, name)
	})
}

// besides reports whether an entry is only measured beside the subject.
func (e *course) besides(name string) bool {
	return e.plan.Class.Subject != "" && name != e.plan.Class.Subject && name != e.plan.Class.Reference
}

// neighbours returns the two entries whose ratios are next to the subject's in the first round that
// has one, the one above and the one below. That round does not compare it with them.
func (e *course) neighbours() (names []string) {
	s := e.results().standing(metrics.Entry{Name: e.plan.Class.Subject})
	if s.Ratio == 0 {
		return nil
	}
	near := slices.DeleteFunc(slices.Clone(e.plan.Class.Entries), func(entry metrics.Entry) bool { return entry.Ratio == 0 || !e.besides(entry.Name) })
	slices.SortStableFunc(near, func(a, b metrics.Entry) int { return cmp.Compare(a.Ratio, b.Ratio) })
	above := 0
	for above < len(near) && near[above].Ratio < s.Ratio {
		above++
	}
	first := max(0, min(above-1, len(near)-2))
	for _, entry := range near[first:min(first+2, len(near))] {
		names = append(names, entry.Name)
	}
	return names
}

// out reports whether an entry has failed for good. The reference, which is the instructor's,
// may fail once for any reason.
func (e *course) out(name string) bool {
	failed := e.failures[name]
	return len(failed) >= mostFailures || len(failed) > 0 && name != e.plan.Class.Reference && verdict.OfStore(failed[0].verdict)
}

// invalid reports whether an entry has failed, or has nothing but a failure so far.
func (e *course) invalid(name string) bool {
	return e.out(name) || len(e.failures[name]) > 0 && len(e.failures[name]) == len(e.kept)
}

// leftOf returns the trials that remain of a round, in its order. made is the number of all
// trials so far.
func (e *course) leftOf(round, made int) (left []metrics.PlannedTrial) {
	var points [][]string
	for _, name := range e.active() {
		points = append(points, []string{name})
	}
	trials := e.in(round)
	for _, p := range experiment.Shuffle(points, e.plan.Seed, round, 0) {
		of := trials[p.Point[0]]
		number := made + 1
		switch last := len(of) - 1; {
		case last < 0:
			made++
		case e.again[of[last].Number]:
			number = of[last].Number
		default:
			continue
		}
		left = append(left, metrics.PlannedTrial{Number: number, Round: round, Point: p.Point})
	}
	return left
}

// otherWork returns what a trial's machines did beside it, in per cent of the processors of the
// busiest; 100 beside another run. It says nothing of the trial's result. Where a process did
// not report, its work cannot be told from that of others.
func otherWork(t metrics.Trial) float64 {
	switch {
	case t.Run == nil:
		return 0
	case t.Run.Preflight != nil && slices.ContainsFunc(t.Run.Preflight.Findings, func(f metrics.Finding) bool { return f.Fact == metrics.Leftover }):
		return 100
	case slices.ContainsFunc(t.Run.Nodes, func(n metrics.RunNode) bool { return n.Summary == nil }):
		return 0
	}
	percent, _ := bottleneck.OtherWork(*t.Run)
	return percent
}

// disturbs reports whether other processes disturbed some of a round's trials more than the
// others. What slows all of them alike is no reason to measure longer.
func disturbs(trials map[string][]metrics.Trial) bool {
	least, most := math.Inf(1), 0.0
	for _, of := range trials {
		work := otherWork(of[len(of)-1])
		least, most = min(least, work), max(most, work)
	}
	return least < disturbed && most >= least+disturbed
}

// of returns the number of trials after which the evening may end: at the next look, or with
// the budget. made is the number of trials so far.
func (e *course) of(made int) int {
	rounds, class := 0, e.plan.Class // after the one under way
	if at := slices.IndexFunc(class.Looks, func(look int) bool { return look > len(e.kept) }); at >= 0 {
		rounds = class.Looks[at] - len(e.kept) - 1
	}
	if spent := e.spent(1, e.complete); class.BudgetS > 0 && spent > 0 {
		each := spent / float64(e.complete)
		rounds = min(rounds, max(0, int((class.BudgetS-spent)/each)-1))
	}
	return made + len(e.left) + rounds*len(e.active())
}

// close ends a round: it notes whether it counts, the trials that failed, and whether the
// evening ends. What a store alone can have done counts in a round that is dropped, too.
func (e *course) close() {
	e.complete++
	trials := e.in(e.complete)
	class := e.plan.Class
	last := class.BudgetS > 0 && e.spent(1, e.complete)+e.spent(e.complete, e.complete) > class.BudgetS
	only := len(e.kept) == 0 && (last || class.Looks[0] == 1)
	drop := disturbs(trials) && len(e.dropped) < mostDropped+len(e.kept)/dropsOne && !only
	for _, name := range e.active() {
		t := trials[name][len(trials[name])-1]
		if v := e.fault(t); !v.Valid && (!drop || verdict.OfStore(v)) {
			e.failures[name] = append(e.failures[name], failure{t.Number, v})
		}
	}
	if drop {
		e.dropped = append(e.dropped, e.complete)
	} else {
		e.kept = append(e.kept, e.complete)
	}
	if e.beside == nil {
		e.beside = e.neighbours()
	}
	settled := false
	if counted := len(e.kept); !drop && slices.Contains(class.Looks, counted) {
		e.deciding = counted
		settled = e.settled()
	}
	switch {
	case e.out(class.Reference):
		e.ended = "the reference failed: " + e.why(class.Reference)
	case len(e.active()) == 1 || e.out(class.Subject):
		e.ended = "no entry is left"
	case settled:
		e.ended = "every pair of entries is told apart, or equal"
	case len(e.kept) == class.Looks[len(class.Looks)-1]:
		e.ended = fmt.Sprintf("these were the last of %s", format.Plural(len(e.kept), "round"))
	case last:
		e.ended = fmt.Sprintf("the budget of %.0f minutes leaves no time for another round", class.BudgetS/60)
		if len(e.kept) >= fewestRounds {
			e.deciding = len(e.kept)
		}
	}
}

// settled reports whether more rounds would say nothing new: of any pair of entries, or of those
// with the subject, and of a score that the class wants to know better.
func (e *course) settled() bool {
	r := e.results()
	pairs, names := r.pairs()
	if subject := slices.Index(names, e.plan.Class.Subject); subject >= 0 {
		pairs = slices.DeleteFunc(pairs, func(p stats.Pair) bool { return p.A != subject && p.B != subject })
	}
	return stats.Settled(pairs) && len(names) > 1 && !slices.ContainsFunc(e.plan.Class.Entries, func(entry metrics.Entry) bool {
		return !e.besides(entry.Name) && !e.plan.Class.Precise(r.standing(entry))
	})
}

// spent returns the seconds that the trials of some rounds took. The time between interrupted
// commands is not counted.
func (e *course) spent(from, to int) float64 {
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

// fault says which gate a trial fails; it is Valid if it keeps all.
func (e *course) fault(t metrics.Trial) metrics.Verdict {
	class := e.plan.Class
	if !t.Verdict.Valid || t.Run == nil { // without a run only trials.json was read
		return t.Verdict
	}
	for _, r := range answer.Of(*t.Run).Caveats {
		// The class's own work may repeat keys.
		if !slices.Contains(class.Allow, r.Name) && !answer.OfMachine(*t.Run, r) && r.Name != answer.FewRecords {
			return metrics.Verdict{Check: verdict.Weakened, Reason: fmt.Sprintf("the caveat %s, which the class does not allow: %s", r.Name, r.Text)}
		}
	}
	if largest := float64(t.Run.LargestServer()) / 1e6; class.MemoryMB > 0 && largest > class.MemoryMB {
		return metrics.Verdict{Check: verdict.Memory, Reason: fmt.Sprintf("a server held %.0f MB of memory, and the limit is %.0f MB", largest, class.MemoryMB)}
	}
	return t.Verdict
}

// why names the gate that an entry failed first, and the trials that failed.
func (e *course) why(name string) string { return reason(e.failures[name]) }

// reason names the gate of the first failure, and the trials of all; "" of none.
func reason(failures []failure) (text string) {
	for i, f := range failures {
		if i == 0 {
			text = fmt.Sprintf("trial %d: %s", f.number, words(f.verdict))
		} else {
			text += fmt.Sprintf("; and trial %d", f.number)
		}
	}
	return text
}

// words returns a verdict's reason; of a trial that is not valid, the whole verdict.
func words(v metrics.Verdict) string {
	if v.Check == verdict.Memory || v.Check == verdict.Weakened {
		return v.Reason
	}
	return v.String()
}

// rates returns the throughputs of an entry in the rounds that count; 0 where no trial does.
func (e *course) rates(name string) []float64 {
	rates := make([]float64, len(e.kept))
	for i, round := range e.kept {
		trials := e.in(round)[name]
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
