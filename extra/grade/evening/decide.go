package evening

import (
	"cmp"
	"math"
	"slices"

	"kvlab/metrics"
	"kvlab/metrics/stats"
)

// Decide says what the trials of a class show of its entries. Some trials may be left.
// Trials of rounds that are not complete count for nothing yet.
func Decide(plan metrics.Sweep, done []metrics.Trial) metrics.Standings {
	e := courseOf(plan, done)
	s := metrics.Standings{Rounds: len(e.kept), Dropped: e.dropped, Ended: e.ended, Deciding: e.deciding}
	if e.out(plan.Class.Reference) {
		s.Void = e.ended
	}
	for _, entry := range plan.Class.Entries {
		s.Entries = append(s.Entries, e.standing(entry))
	}
	e.rank(s.Entries)
	group := func(s metrics.Standing) int {
		switch {
		case !s.Verdict.Valid:
			return 2
		case s.Entry == plan.Class.Reference:
			return 1
		}
		return 0
	}
	slices.SortStableFunc(s.Entries, func(a, b metrics.Standing) int {
		return cmp.Or(cmp.Compare(group(a), group(b)), cmp.Compare(a.Rank, b.Rank), cmp.Compare(b.Ratio, a.Ratio))
	})
	return s
}

// standing returns the standing of an entry without its rank.
func (e *course) standing(entry metrics.Entry) metrics.Standing {
	s := metrics.Standing{Entry: entry.Name, Verdict: metrics.Verdict{Valid: true}}
	for _, f := range e.failures[entry.Name] {
		s.Failed = append(s.Failed, f.number)
	}
	var own, reference []float64 // in the rounds that have both
	logs, of := 0.0, e.rates(e.plan.Class.Reference)
	for i, rate := range e.rates(entry.Name) {
		if rate > 0 {
			s.Valid++
			logs += math.Log(rate)
		}
		if rate > 0 && of[i] > 0 {
			own, reference = append(own, rate), append(reference, of[i])
		}
	}
	if s.Valid > 0 {
		s.OpsPerS = math.Exp(logs / float64(s.Valid))
	}
	switch {
	case entry.Broken != "":
		s.Reason = "it does not build: " + entry.Broken
	case e.invalid(entry.Name):
		s.Reason = e.why(entry.Name)
	case len(own) > 0:
		ratio := stats.Compare(reference, own, stats.Paired)
		if s.Ratio = ratio.Ratio(); ratio.Known {
			s.RatioLow, s.RatioHigh = ratio.RatioInterval(0.95)
			s.ScoreLow, s.ScoreHigh = score(e.plan.Class.Score, s.RatioLow), score(e.plan.Class.Score, s.RatioHigh)
		}
		s.Score = score(e.plan.Class.Score, s.Ratio)
	}
	if s.Reason != "" {
		s.Verdict = metrics.Verdict{Reason: s.Reason}
		if failures := e.failures[entry.Name]; len(failures) > 0 {
			s.Verdict.Check = failures[0].verdict.Check
		}
	}
	return s
}

// score returns the score of a ratio. It is linear between two steps.
func score(steps []metrics.ScoreStep, ratio float64) float64 {
	at := slices.IndexFunc(steps, func(s metrics.ScoreStep) bool { return ratio < s.Ratio })
	switch at {
	case -1:
		return steps[len(steps)-1].Percent
	case 0:
		return steps[0].Percent
	}
	a, b := steps[at-1], steps[at]
	return a.Percent + (b.Percent-a.Percent)*(ratio-a.Ratio)/(b.Ratio-a.Ratio)
}

// rank fills in the ranks of the entries at the last look; before the first all are 1.
func (e *course) rank(standings []metrics.Standing) {
	pairs, names := e.pairs()
	ranks := stats.Ranks(len(names), pairs)
	name := func(entries []int) (all []string) {
		for _, i := range entries {
			all = append(all, names[i])
		}
		return all
	}
	for i := range standings {
		s := &standings[i]
		if at := slices.Index(names, s.Entry); at >= 0 {
			r := ranks[at]
			s.RankLow, s.RankHigh, s.Faster, s.Slower = r.Rank, r.High, name(r.Faster), name(r.Slower)
		}
	}
	tie(standings)
}

// tie gives the ranked entries whose ranges overlap, one with the next, the same rank: of two
// equal ones one may be surely slower than a third which cannot be told from the other.
func tie(standings []metrics.Standing) {
	var ranked []*metrics.Standing
	for i := range standings {
		if standings[i].RankLow > 0 {
			ranked = append(ranked, &standings[i])
		}
	}
	slices.SortStableFunc(ranked, func(a, b *metrics.Standing) int { return cmp.Compare(a.RankLow, b.RankLow) })
	rank, high := 0, 0
	for _, s := range ranked {
		if s.RankLow > high {
			rank = s.RankLow
		}
		s.Rank, high = rank, max(high, s.RankHigh)
	}
}
