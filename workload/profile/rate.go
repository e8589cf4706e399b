// Package profile holds the load that an open loop offers: a rate, or one that changes in stages.
// It is pure.
package profile

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"kvlab/internal/cli"
	"kvlab/metrics"
)

// Most is the highest rate, in operations per second: one per nanosecond, the resolution of due
// times.
const Most = 1e9

// Rate is the load that an open loop offers. At most one of OpsPerS and Share is set. The zero
// Rate means a closed loop.
type Rate struct {
	OpsPerS float64 // of all clients together; the mean of stages
	Speed   float64 // how many times as fast as the trace OpsPerS is; 0 if it was not typed so
	Share   float64 // of the throughput of the client's closed loop in the first half of the warm-up, above 0; the mean of stages
	Stages  []Stage // with levels in the same unit; nil of a constant rate
}

// Open reports whether the loop is open.
func (r Rate) Open() bool { return r.OpsPerS > 0 || r.Speed > 0 || r.Share > 0 }

// want is the form of a rate.
const (
	want      = "want operations per second of all clients together, such as 200k, or a share of the measured peak, such as 70%"
	wantStage = "want LEVEL@TIME, where a level is 50k, a ramp 50k..400k, or a sine 300k~200k/60s (its mean, amplitude and period), each number in per cent of the measured peak or none"
)

// Set reads a number of operations per second, with k or M for thousands and millions, or a
// share in per cent: "200000", "200k", "1.5M", "70%"; or stages of such levels and their times:
// "100k@10s,500k@500ms,100k@20s", "50k..400k@30s", "300k~200k/60s@2m". A single level may lack
// its time.
func (r *Rate) Set(text string) error {
	if speed, of := strings.CutSuffix(text, "x"); of && !strings.Contains(text, "@") {
		n, err := strconv.ParseFloat(speed, 64)
		if err != nil || !(n > 0) || n > Most {
			return errors.New("want a number of times the rate of a trace, such as 50x")
		}
		*r = Rate{Speed: n}
		return nil
	}
	words := strings.Split(text, ",")
	var first level
	var stages []Stage
	for i, word := range words {
		s, l, ok := parseStage(word)
		at := fmt.Sprintf("stage %d, %q: ", i+1, word)
		if i == 0 {
			first = l
		}
		switch {
		case !ok && len(words) == 1 && !strings.ContainsAny(word, "@~") && !strings.Contains(word, ".."):
			return errors.New(want)
		case !ok:
			return errors.New(at + wantStage)
		case len(words) > 1 && s.Length == 0:
			return fmt.Errorf("%swant its time, as in %s@10s", at, word)
		case l.share != first.share:
			return errors.New(at + "want all levels in per cent of the measured peak, or none")
		case i == 0 && s.From == 0:
			return errors.New(at + "want a first level above 0: the warm-up has it")
		}
		stages = append(stages, s)
	}
	if len(stages) > metrics.MostStages {
		return fmt.Errorf("%d stages: want at most %d", len(stages), metrics.MostStages)
	}
	*r = Rate{Stages: stages}
	if s := stages[0]; len(stages) == 1 && s.Length == 0 && s.constant() {
		r.Stages = nil
	}
	r.setMean(mean(stages), first.share)
	return nil
}

func (r *Rate) setMean(level float64, share bool) {
	if r.OpsPerS, r.Share = level, 0; share {
		r.OpsPerS, r.Share = 0, level
	}
}

// Fit returns the length of the window: the sum of the stages. A single stage without a
// time gets the window's. typed says that the window was typed too; one of another length is an
// error then.
func (r *Rate) Fit(window time.Duration, typed bool) (time.Duration, error) {
	if r.Stages == nil {
		return window, nil
	}
	if len(r.Stages) == 1 && r.Stages[0].Length == 0 {
		r.Stages = []Stage{r.Stages[0]}
		r.Stages[0].Length = window
		r.setMean(mean(r.Stages), r.Share > 0)
	}
	together := time.Duration(0)
	for _, s := range r.Stages {
		together += s.Length
	}
	if typed && window != together {
		return 0, fmt.Errorf("-rate %s: its stages last %v together, -secs is %v: want the same, or -secs left out", r, together, window)
	}
	return together, nil
}

// Parsed returns the rate that Set reads from the final value of a flag; the zero Rate of anything
// else.
func Parsed(text string) (r Rate) {
	_ = r.Set(text)
	return r
}

// Crest returns the highest level of stages in their means; 1 of a constant rate.
func (r Rate) Crest() float64 {
	if r.Stages == nil {
		return 1
	}
	return r.Highest() / max(r.OpsPerS, r.Share)
}

// Highest returns the highest level of an open loop at OpsPerS or Share, in the same unit.
func (r Rate) Highest() (most float64) {
	most = max(r.OpsPerS, r.Share)
	for _, s := range r.Stages {
		most = max(most, s.Highest())
	}
	return most
}

// String returns what Set reads; "" for a closed loop.
func (r Rate) String() string {
	write := func(level float64) string { return strconv.FormatFloat(level, 'f', -1, 64) }
	if r.Share > 0 {
		write = func(level float64) string { return strconv.FormatFloat(100*level, 'g', 12, 64) + "%" }
	}
	switch {
	case r.Stages != nil:
		var stages []string
		for _, s := range r.Stages {
			stages = append(stages, s.text(func(level float64) string {
				if thousands := level / 1000; r.Share == 0 && level >= 1000 && thousands == math.Trunc(thousands) {
					return write(thousands) + "k"
				}
				return write(level)
			}))
		}
		return strings.Join(stages, ",")
	case r.Speed > 0:
		return strconv.FormatFloat(r.Speed, 'g', -1, 64) + "x"
	case r.Open():
		return write(max(r.OpsPerS, r.Share))
	}
	return ""
}

// level is a level of a stage as it is typed.
type level struct {
	n     float64
	share bool
}

// parseLevel reads a number of operations per second or a share; 0 is one.
func parseLevel(text string) (l level, ok bool) {
	number, share := strings.CutSuffix(text, "%")
	if l.share = share; number == "0" {
		return l, true
	}
	l.n, ok = cli.ParseCount(number)
	if share {
		l.n /= 100
	}
	return l, ok && !(share && strings.ContainsAny(number, "kKmMgG"))
}

// parseStage reads a stage, and returns its first level.
func parseStage(text string) (s Stage, l level, ok bool) {
	text, length, timed := strings.Cut(text, "@")
	if timed {
		if s.Length, ok = parseTime(length); !ok {
			return s, l, false
		}
	}
	l, ok = parseLevel(text)
	to := l
	if low, high, ramp := strings.Cut(text, ".."); ramp {
		var fine bool
		l, fine = parseLevel(low)
		to, ok = parseLevel(high)
		ok = ok && fine
	} else if middle, swing, sine := strings.Cut(text, "~"); sine {
		swing, period, _ := strings.Cut(swing, "/")
		l, ok = parseLevel(middle)
		high, fine := parseLevel(swing)
		s.Period, timed = parseTime(period)
		s.Swing, to = high.n, l
		ok = ok && fine && timed && high.n > 0 && high.n <= l.n && high.share == l.share
	}
	s.From, s.To = l.n, to.n
	return s, l, ok && l.share == to.share && (timed || s.Highest() > 0)
}

// parseTime reads a time above 0: a duration, or a number of seconds.
func parseTime(text string) (d time.Duration, ok bool) {
	for _, text := range []string{text, text + "s"} {
		if d, err := time.ParseDuration(text); err == nil {
			return d, d > 0
		}
	}
	return 0, false
}
