package witness

import (
	"math"

	"kvlab/metrics"
	"kvlab/metrics/format"
)

// checkTwice: two calls of RepeatOps operations are equal by chance if as many successive draws
// are.
func checkTwice(j *judged) finding {
	repeats := uint64(0)
	for _, s := range j.servers {
		repeats += s.Witness.Repeats
	}
	masses := j.hotMasses()
	if masses == nil {
		return inapplicable("the workload's keys are not drawn independently by their numbers")
	}
	same := masses[len(masses)-1] // of the other keys, at most
	for _, m := range masses {
		same += m * m
	}
	if pairs := float64(j.calls) * float64(j.calls); pairs*math.Pow(same, metrics.RepeatOps) > 1e-9 {
		return inapplicable("the workload has so few keys that batches are equal by chance")
	}
	if repeats > 0 {
		return failed("", "%s of %d carried the operations of an earlier call, in the same order: batches are sent again, or generators have the same seed", format.Plural(repeats, "call"), j.calls)
	}
	return passed("no call carried the operations of another")
}

// checkOrder: a goroutine that waits for each call has one in flight at each server.
func checkOrder(j *judged) finding {
	if j.asked.Workers == 0 || j.asked.Clients == 0 {
		return inapplicable("nobody says how many goroutines a client has: several that share a connection have several calls in flight, too")
	}
	for _, s := range j.servers {
		w := s.Witness
		// A client may have several goroutines of its flag's number, if each has connections.
		waiting := max(uint64(j.asked.Workers*j.asked.Clients), w.Connections)
		if w.InFlightAll > waiting && w.Overtakable > 0 {
			return failed(s.Node, "%d calls in flight at once, of %s, and %s could overtake one that writes the same key: the order of the generator is not kept",
				w.InFlightAll, format.Plural(waiting, "goroutine"), format.Plural(w.Overtakable, "call"))
		}
	}
	return passed("no goroutine had two calls in flight that change the same key")
}

// sizes returns the number of calls of the size that the most calls have, as far as the octaves
// tell it, and that size.
func (j *judged) sizes() (size int, calls uint64) {
	at := map[int]uint64{}
	for _, s := range j.servers {
		for _, o := range s.Witness.Sizes {
			if at[o.Most] += o.AtMost; at[o.Most] > calls {
				size, calls = o.Most, at[o.Most]
			}
		}
	}
	return size, calls
}

// part returns the operations that a full batch puts into one call at least. A client may split
// its batch over the servers, and into GETs and PUTs.
func (j *judged) part() int { return j.asked.Batch / (2 * max(j.used(), 1)) }

// fixed returns the one size that nine of ten calls have; 0 if there is none.
func (j *judged) fixed() int {
	if size, calls := j.sizes(); 10*calls >= 9*j.calls {
		return size
	}
	return 0
}

func checkBatch(j *judged) finding {
	size := j.fixed()
	switch {
	case j.asked.Batch == 0:
		return inapplicable("nobody says which batch the client is to have")
	case size > 0 && (size < j.part() || size >= 2*j.asked.Batch):
		return doubted("calls carry %s whatever the batch flag says, here %d: the flag has no effect", format.Plural(size, "operation"), j.asked.Batch)
	}
	return passed("calls of up to %s, asked for a batch of %d", format.Plural(j.largest, "operation"), j.asked.Batch)
}

func checkFull(j *judged) finding {
	var flushed, lone uint64
	for _, s := range j.servers {
		flushed, lone = flushed+s.Witness.FlushedByPut, lone+s.Witness.LonePuts
	}
	mean := float64(j.ops()) / float64(j.calls)
	text := ""
	if 2*flushed > j.calls-lone {
		text = ": a PUT ends a batch"
	}
	switch {
	case j.asked.Batch == 0:
		return inapplicable("nobody says which batch the client is to have")
	case j.largest >= j.part() || j.fixed() > 0:
		return passed("%.1f operations a call, %d at most%s", mean, j.largest, text)
	}
	return doubted("%.1f operations a call, %d at most, where the batch is %d: no batch is ever full%s", mean, j.largest, j.asked.Batch, text)
}
