package profile

import (
	"slices"
	"strings"
	"time"

	"kvlab/metrics"
)

// mostSlots is the number of slots of all stages together, into which a Tally counts.
const mostSlots = 1000

// Tally counts operations by stage: how many were due, and how many of these were answered, in
// slots. Each stage has the same number of slots. Times count from the opening. A nil Tally counts
// nothing. It is not safe for concurrent use.
type Tally struct {
	rate      Rate
	begins    []time.Duration // of each, and the end
	each      int             // slots of a stage
	due, done []uint64        // by slot
}

// NewTally returns a tally of a rate's stages; nil of a rate without any.
func (r Rate) NewTally() *Tally {
	if r.Stages == nil {
		return nil
	}
	t := &Tally{rate: r, begins: []time.Duration{0}, each: mostSlots / len(r.Stages)}
	for i, s := range r.Stages {
		t.begins = append(t.begins, t.begins[i]+s.Length)
	}
	t.due, t.done = make([]uint64, t.each*len(r.Stages)), make([]uint64, t.each*len(r.Stages))
	return t
}

// slot returns the slot of a time, and when it ends. Time after the last stage is the last slot's.
func (t *Tally) slot(at time.Duration) (slot int, ends time.Duration) {
	i := 0
	for i+1 < len(t.rate.Stages) && t.begins[i+1] <= at {
		i++
	}
	k := min(int(float64(at-t.begins[i])/float64(t.rate.Stages[i].Length)*float64(t.each)), t.each-1)
	if slot = i*t.each + k; slot+1 == len(t.due) {
		return slot, Never
	}
	return slot, t.ends(slot)
}

// ends returns when a slot ends.
func (t *Tally) ends(slot int) time.Duration {
	i, k := slot/t.each, slot%t.each+1
	return t.begins[i] + time.Duration(float64(t.rate.Stages[i].Length)*float64(k)/float64(t.each))
}

// Due counts the operations that were due at these times, the earliest first, without those before
// the opening. It returns their number, also for a nil Tally.
func (t *Tally) Due(times []time.Duration, opens time.Duration) (n uint64) {
	from, _ := slices.BinarySearch(times, opens)
	times = times[from:]
	n = uint64(len(times))
	for ; t != nil && len(times) > 0; times = times[from:] {
		slot, ends := t.slot(times[0] - opens)
		from, _ = slices.BinarySearch(times, opens+ends)
		from = max(from, 1) // an end is rounded
		t.due[slot] += uint64(from)
	}
	return n
}

// Done counts n operations that were due after the opening, and answered.
func (t *Tally) Done(at time.Duration, n int) {
	if t != nil {
		slot, _ := t.slot(at)
		t.done[slot] += uint64(n)
	}
}

// Add adds the counts of another worker.
func (t *Tally) Add(u *Tally) {
	if t == nil {
		return
	}
	for i := range t.due {
		t.due[i], t.done[i] = t.due[i]+u.due[i], t.done[i]+u.done[i]
	}
}

// Stages returns the record of each stage, as far as one client knows it.
func (t *Tally) Stages() []metrics.Stage {
	if t == nil {
		return nil
	}
	all := make([]metrics.Stage, len(t.rate.Stages))
	levels := strings.Split(t.rate.String(), ",")
	behind := make([]uint64, len(t.due)) // at each slot's end
	due, done := uint64(0), uint64(0)
	for k := range t.due {
		due, done = due+t.due[k], done+t.done[k]
		behind[k] = due - min(due, done)
		s := &all[k/t.each]
		s.Due, s.Answered, s.Behind = s.Due+t.due[k], s.Answered+t.done[k], behind[k]
	}
	for i := range all {
		all[i].Level, all[i].LengthS = levels[i], t.rate.Stages[i].Length.Seconds()
		before, high := t.rate.Burst(i)
		if !high {
			continue
		}
		from := (i+1)*t.each - 1 // the slot that ends with the stage
		calm := slices.Max(behind[before*t.each : (before+1)*t.each])
		all[i].DrainedS = new(-1.0)
		if k := slices.IndexFunc(behind[from:], func(n uint64) bool { return n <= calm }); k >= 0 {
			all[i].DrainedS = new((t.ends(from+k) - t.begins[i+1]).Seconds())
		}
	}
	return all
}

// Stage returns the number of the stage, from 1, in which a stretch of time after the opening lies;
// 0 if it lies in none.
func (r Rate) Stage(from, to time.Duration) int {
	begin := time.Duration(0)
	for i, s := range r.Stages {
		if from >= begin && to <= begin+s.Length {
			return i + 1
		}
		begin += s.Length
	}
	return 0
}

// LastBurst returns the last stage that is a Burst with the first stage before it, if the last
// stage's mean level is no higher than the first one's; false for another rate.
func (r Rate) LastBurst() (burst int, ok bool) {
	last := len(r.Stages) - 1
	if last < 2 || r.Stages[last].mean() > alike*r.Stages[0].mean() {
		return 0, false
	}
	for burst = last - 1; burst > 0; burst-- {
		if before, ok := r.Burst(burst); ok && before == 0 {
			return burst, true
		}
	}
	return 0, false
}

// alike is by how much means of one level may differ as they are rounded.
const alike = 1 + 1e-9

// Burst reports whether a stage has a higher mean level than the next one, and returns the first
// stage, before it, whose mean level is no higher than the next one's; false if there is
// none.
func (r Rate) Burst(stage int) (before int, ok bool) {
	if stage+1 >= len(r.Stages) {
		return 0, false
	}
	next := alike * r.Stages[stage+1].mean()
	before = slices.IndexFunc(r.Stages[:stage], func(s Stage) bool { return s.mean() <= next })
	return before, before >= 0 && r.Stages[stage].mean() > next
}
