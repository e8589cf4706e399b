// Package claim reads what a team's programs say of themselves in lines of their output.
package claim

import (
	"cmp"
	"math"
	"regexp"
	"strconv"
	"strings"
	"time"

	"kvlab/metrics"
	"kvlab/metrics/format"
	"kvlab/metrics/stats"
)

// labClient and the others match the lines of the course's programs. A server prints three each
// second: get/s, put/s and ops/s. One with transactions prints commit/s and abort/s, or commits/s
// and aborts/s; a line such as aborts/s (retries) is another.
var (
	labClient  = regexp.MustCompile(`^(?:throughput|total|\S+ median)[: ]+([0-9][0-9.,_e+]*)`)
	labServer  = regexp.MustCompile(`^ops/s[: ]+([0-9][0-9.,_e+]*)`)
	labCommits = regexp.MustCompile(`^commits?/s[: ]+([0-9][0-9.,_e+]*)`)
	labAborts  = regexp.MustCompile(`^aborts?/s[: ]+([0-9][0-9.,_e+]*)`)
)

// unit matches a suffix right after a number: 8.97k, 8.97 kop/s, 1.2M ops/s.
var unit = regexp.MustCompile(`^\s*([kKMG])(?:i?[oO]|/|\s|$)`)

// lineBytes is what is kept of a line without a rate.
const lineBytes = 120

var scale = map[string]float64{"k": 1e3, "K": 1e3, "M": 1e6, "G": 1e9}

// Reader reads the lines of one program. It is not safe for concurrent use.
type Reader struct {
	pattern *regexp.Regexp
	server  bool

	claimed metrics.Claimed
	seconds // of a server

	commits, aborts seconds // of a server with transactions, beside its operations
}

// seconds are the rates of a server's lines, in order.
type seconds struct {
	rates   []float64
	lengths []float64 // seconds since the line before
	last    time.Duration
	line    string
}

func (s *seconds) add(rate float64, line string, at time.Duration) {
	s.rates, s.lengths = append(s.rates, rate), append(s.lengths, (at-s.last).Seconds())
	s.last, s.line = at, line
}

// mean returns the mean of the rates; 0 if there are none.
func (s *seconds) mean() float64 {
	sum := 0.0
	for _, rate := range s.rates {
		sum += rate
	}
	return sum / max(1, float64(len(s.rates)))
}

// NewReader returns a reader of a client's result, or of a server's seconds. The pattern's group
// is operations per second; "" is the course's lines. It panics if the pattern is wrong: a
// program's file has checked it.
func NewReader(role metrics.Role, pattern string) *Reader {
	r := &Reader{pattern: labClient, server: role == metrics.Server, claimed: metrics.Claimed{Result: pattern}}
	switch {
	case pattern != "":
		r.pattern = regexp.MustCompile(pattern)
	case r.server:
		r.pattern = labServer
	}
	return r
}

// Rate returns the operations per second in a line, with its suffix k, M or G; false without.
func (r *Reader) Rate(line string) (opsPerS float64, ok bool) { return rate(r.pattern, line) }

func rate(pattern *regexp.Regexp, line string) (opsPerS float64, ok bool) {
	at := pattern.FindStringSubmatchIndex(strings.TrimSpace(line))
	if at == nil || at[2] < 0 {
		return 0, false
	}
	line = strings.TrimSpace(line)
	opsPerS, err := strconv.ParseFloat(strings.NewReplacer(",", "", "_", "").Replace(line[at[2]:at[3]]), 64)
	if err != nil || math.IsInf(opsPerS, 0) || opsPerS < 0 {
		return 0, false
	}
	if suffix := unit.FindStringSubmatch(line[at[3]:]); suffix != nil {
		opsPerS *= scale[suffix[1]]
	}
	return opsPerS, true
}

// Add adds a line that came a time after the program's start, not before an earlier one's.
func (r *Reader) Add(line string, at time.Duration) {
	rate, ok := r.Rate(line)
	line = strings.TrimSpace(line)
	if !ok && r.server && r.transaction(line, at) {
		return
	}
	if !ok {
		if r.claimed.Lines == 0 && line != "" {
			r.claimed.Line = format.Label(line, lineBytes)
		}
		return
	}
	r.claimed.Lines++
	r.claimed.OpsPerS, r.claimed.Line = rate, line
	if r.server {
		r.add(rate, line, at)
	}
}

// transaction adds a server's line if it is of its commits or aborts.
func (r *Reader) transaction(line string, at time.Duration) bool {
	for pattern, s := range map[*regexp.Regexp]*seconds{labCommits: &r.commits, labAborts: &r.aborts} {
		if rate, ok := rate(pattern, line); ok {
			s.add(rate, line, at)
			return true
		}
	}
	return false
}

// counted returns a server's operations, or its commits if it tells no operations.
func (r *Reader) counted() *seconds {
	if len(r.rates) == 0 {
		return &r.commits
	}
	return &r.seconds
}

// Lines returns the number of lines so far that have a rate, and the rate of the last.
func (r *Reader) Lines() (n int, last float64) {
	if s := r.counted(); len(s.rates) > 0 {
		return len(s.rates), s.rates[len(s.rates)-1]
	}
	return r.claimed.Lines, r.claimed.OpsPerS
}

// Claimed returns what the lines so far say.
//
// A server's line is the rate of the time since the line before. On a busy machine a line may
// come late, up to the time of the next one, so a line's rate holds for no more operations than
// the highest of its own and its neighbours' does. After the last line it may do as much again.
func (r *Reader) Claimed() metrics.Claimed {
	c, s := r.claimed, r.counted()
	c.CommitsPerS, c.AbortsPerS = r.commits.mean(), r.aborts.mean()
	if n := len(s.rates); n > 0 {
		var all, most float64
		for i, rate := range s.rates {
			all += rate * s.lengths[i]
			most += max(rate, s.rates[max(i-1, 0)], s.rates[min(i+1, n-1)]) * s.lengths[i]
		}
		most += max(s.rates[n-1], s.rates[max(n-2, 0)]) * cmp.Or(s.lengths[n-1], 1)
		c.Ops, c.Most, c.OpsPerS, c.Median = uint64(all), uint64(math.Ceil(most)), s.mean(), stats.Median(s.rates)
		c.Lines, c.Line = n, s.line
	}
	return c
}
