package latency

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"kvlab/metrics"
	"kvlab/metrics/stats"
)

// Stage holds the latencies of the intervals of a stage of -rate that no boundary cuts.
type Stage struct {
	op, late *Distribution
	calls    uint64
	ops      batches
}

func newStage() *Stage { return &Stage{op: NewDistribution(), late: NewDistribution()} }

// Stage returns the latencies of a stage, by its number from 1.
func (l *Set) Stage(number int) *Stage {
	if number > len(l.stages) {
		return newStage()
	}
	return l.stages[number-1]
}

// addStage adds the decoded Histogram of a record to its stage.
func (l *Set) addStage(r metrics.Record, d *Distribution) error {
	number := r.Histogram.Stage
	if number < 0 || number > metrics.MostStages {
		return fmt.Errorf("histogram of stage %d, want 1 to %d, or 0", number, metrics.MostStages)
	}
	for len(l.stages) < number {
		l.stages = append(l.stages, newStage())
	}
	if number == 0 {
		return nil
	}
	switch s := l.stages[number-1]; r.Histogram.Name {
	case metrics.CallLatency:
		s.calls += uint64(d.TotalCount())
	case metrics.OpLatency:
		s.op.Add(d)
		s.ops.add(r, d)
	case metrics.Lateness:
		s.late.Add(d)
	}
	return nil
}

// Operations returns the quantiles of the operations.
func (s *Stage) Operations() metrics.Quantiles {
	q := QuantilesOf(s.op, s.calls)
	q.CI95 = s.ops.intervals(s.op, s.calls)
	return q
}

// Late returns the quantiles of how late the generator woke up.
func (s *Stage) Late() metrics.Quantiles {
	return QuantilesOf(s.late, uint64(s.late.TotalCount()))
}

// Since returns the stage without the parts of its time that begin before a time.
func (s *Stage) Since(from time.Time) *Stage {
	rest := &Stage{op: NewDistribution(), late: NewDistribution(), ops: batches{length: s.ops.length, of: make(map[int64]*Distribution)}}
	for number, d := range s.ops.of {
		if !s.ops.begin(number).Before(from) {
			rest.ops.of[number] = d
			rest.op.Add(d)
		}
	}
	rest.calls = uint64(float64(s.calls) * stats.Portion(float64(rest.op.TotalCount()), float64(s.op.TotalCount())))
	return rest
}

// Until returns the end of the first part of the stage's time whose p99 is at most so many
// microseconds; false if none is.
func (s *Stage) Until(micros float64) (end time.Time, ok bool) {
	for _, number := range slices.Sorted(maps.Keys(s.ops.of)) {
		if float64(s.ops.of[number].ValueAtQuantile(99)) <= micros {
			return s.ops.begin(number + 1), true
		}
	}
	return end, false
}

// begin returns when a part of the time begins.
func (b *batches) begin(number int64) time.Time { return time.Unix(0, number*int64(b.length)) }
