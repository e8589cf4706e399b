package evening

import (
	"cmp"
	"math"
	"slices"

	"kvlab/metrics"
	"kvlab/metrics/stats"
)

// results are what the rounds of one evening, or of several, say of the entries.
type results struct {
	class    metrics.Class
	evenings int                  // whose looks share alpha
	counts   []bool               // of the rounds that count, whether it is one up to its evening's last look
	rates    map[string][]float64 // throughputs of an entry in the rounds that count; 0 where no trial does
	failures map[string][]failure // of an entry
	invalid  map[string]string    // why entries are INVALID
	earlier  map[string]bool      // entries whose team has handed in another one since: they have no rank
}

// Decide says what the trials of a class show of its entries. Some trials may be left.
// Trials of rounds that are not complete count for nothing yet.
func Decide(plan metrics.Sweep, done []metrics.Trial) metrics.Standings {
	return courseOf(plan, done).standings()
}

// standings returns the standings of one evening.
func (e *course) standings() metrics.Standings {
	s := metrics.Standings{Rounds: len(e.kept), Dropped: e.dropped, Ended: e.ended, Deciding: e.deciding}
	if e.out(e.plan.Class.Reference) {
		s.Void = e.ended
	}
	s.Entries = e.results().standings()
	return s
}

// results returns what the rounds so far say.
func (e *course) results() results {
	r := results{class: *e.plan.Class, evenings: 1, rates: make(map[string][]float64), failures: e.failures, invalid: make(map[string]string)}
	for i := range e.kept {
		r.counts = append(r.counts, i < e.deciding)
	}
	for _, entry := range e.plan.Class.Entries {
		r.rates[entry.Name] = e.rates(entry.Name)
		switch {
		case entry.Broken != "":
			r.invalid[entry.Name] = "it does not build: " + entry.Broken
		case e.invalid(entry.Name):
			r.invalid[entry.Name] = e.why(entry.Name)
		}
	}
	return r
}

// standings returns the standings of the entries: those that are ranked, the reference, and those
// that are INVALID.
func (r results) standings() (all []metrics.Standing) {
	for _, entry := range r.class.Entries {
		all = append(all, r.standing(entry))
	}
	r.rank(all)
	group := func(s metrics.Standing) int {
		switch {
		case !s.Verdict.Valid:
			return 2
		case s.Rank == 0:
			return 1
		}
		return 0
	}
	slices.SortStableFunc(all, func(a, b metrics.Standing) int {
		return cmp.Or(cmp.Compare(group(a), group(b)), cmp.Compare(a.Rank, b.Rank), cmp.Compare(b.Ratio, a.Ratio))
	})
	return all
}

// standing returns the standing of an entry without its rank.
func (r results) standing(entry metrics.Entry) metrics.Standing {
	s := metrics.Standing{Entry: entry.Name, Verdict: metrics.Verdict{Valid: true}, Reason: r.invalid[entry.Name], Earlier: r.earlier[entry.Name]}
	for _, f := range r.failures[entry.Name] {
		s.Failed = append(s.Failed, f.number)
	}
	var own, reference []float64 // in the rounds that have both
	logs, of := 0.0, r.rates[r.class.Reference]
	for i, rate := range r.rates[entry.Name] {
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
	if s.Reason == "" && len(own) > 0 {
		ratio := stats.Compare(reference, own, stats.Paired)
		if s.Ratio = ratio.Ratio(); ratio.Known {
			s.RatioLow, s.RatioHigh = ratio.RatioInterval(0.95)
			s.ScoreLow, s.ScoreHigh = score(r.class.Score, s.RatioLow), score(r.class.Score, s.RatioHigh)
		}
		s.Score = score(r.class.Score, s.Ratio)
	}
	if s.Reason != "" {
		s.Verdict = metrics.Verdict{Reason: s.Reason}
		if failures := r.failures[entry.Name]; len(failures) > 0 {
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

// pairs compares the entries that are ranked, those that are not INVALID, up to the last look. It
// returns their names, too.
func (r results) pairs() (pairs []stats.Pair, names []string) {
	decided := func(name string) (rates []float64) {
		for i, rate := range r.rates[name] {
			if r.counts[i] {
				rates = append(rates, rate)
			}
		}
		return rates
	}
	var values [][]float64
	for _, entry := range r.class.Entries {
		if name := entry.Name; name != r.class.Reference && r.invalid[name] == "" && !r.earlier[name] {
			values, names = append(values, decided(name)), append(names, name)
		}
	}
	return stats.Pairs(values, decided(r.class.Reference), r.class.Alpha/float64(len(r.class.Looks)*r.evenings), r.class.Equal), names
}

// rank fills in the ranks of the entries at the last look; before the first all are 1.
func (r results) rank(standings []metrics.Standing) {
	pairs, names := r.pairs()
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
