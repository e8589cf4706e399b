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

// labClient and labServer match the lines of the course's programs. A server prints three each
// second: get/s, put/s and ops/s.
var (
	labClient = regexp.MustCompile(`^(?:throughput|total|\S+ median)[: ]+([0-9][0-9.,_e+]*)`)
	labServer = regexp.MustCompile(`^ops/s[: ]+([0-9][0-9.,_e+]*)`)
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
	rates   []float64 // of a server's lines, in order
	lengths []float64 // seconds since the line before
	last    time.Duration
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
func (r *Reader) Rate(line string) (opsPerS float64, ok bool) {
	at := r.pattern.FindStringSubmatchIndex(strings.TrimSpace(line))
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
	if !ok {
		if r.claimed.Lines == 0 && line != "" {
			r.claimed.Line = format.Label(line, lineBytes)
		}
		return
	}
	r.claimed.Lines++
	r.claimed.OpsPerS, r.claimed.Line = rate, line
	if r.server {
		r.rates, r.lengths = append(r.rates, rate), append(r.lengths, (at-r.last).Seconds())
		r.last = at
	}
}

// Lines returns the number of lines so far that have a rate, and the rate of the last.
func (r *Reader) Lines() (n int, last float64) { return r.claimed.Lines, r.claimed.OpsPerS }

// Claimed returns what the lines so far say.
//
// A server's line is the rate of the time since the line before. On a busy machine a line may
// come late, up to the time of the next one, so a line's rate holds for no more operations than
// the highest of its own and its neighbours' does. After the last line it may do as much again.
func (r *Reader) Claimed() metrics.Claimed {
	c := r.claimed
	if n := len(r.rates); n > 0 {
		var all, most, sum float64
		for i, rate := range r.rates {
			all += rate * r.lengths[i]
			most += max(rate, r.rates[max(i-1, 0)], r.rates[min(i+1, n-1)]) * r.lengths[i]
			sum += rate
		}
		most += max(r.rates[n-1], r.rates[max(n-2, 0)]) * cmp.Or(r.lengths[n-1], 1)
		c.Ops, c.Most, c.OpsPerS, c.Median = uint64(all), uint64(math.Ceil(most)), sum/float64(n), stats.Median(r.rates)
	}
	return c
}
