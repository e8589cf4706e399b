package lab_test

import (
	"math/rand/v2"
	"os"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"kvlab/internal/kvstest"
	"kvlab/internal/labtest"
	"kvlab/kvs"
	"kvlab/kvs/driver"
	"kvlab/kvs/driver/drivertest"
	"kvlab/kvs/history/serial"
	"kvlab/kvs/txn"
	"kvlab/metrics"
)

// A bank's accounts are the suite's keys. Two of them are a pair with a constant sum. A transfer
// reads both accounts of a pair and writes both: its first write is how much of the sum the one
// has, and its second the rest.
const (
	pairs  = 4
	ofPair = 2000 // the sum
)

// amount returns what an account has by the write of its value.
func amount(value metrics.WriteID) int {
	n := uint64(value) - 1
	if has := int(n / 2 * 7919 % ofPair); n%2 == 0 {
		return has
	} else {
		return ofPair - has
	}
}

// transfer returns a transfer in each of some pairs.
func transfer(of ...int) (a serial.Attempt) {
	for _, pair := range of {
		first := rand.IntN(2)
		for _, i := range []int{first, 1 - first} {
			a.Ops = append(a.Ops, serial.Op{Key: uint32(2*pair + i), Reads: true, Wrote: 1})
		}
	}
	return a
}

// audit returns a transaction that reads two pairs.
func audit() (a serial.Attempt) {
	a = transfer(rand.Perm(pairs)[:2]...)
	for i := range a.Ops {
		a.Ops[i].Wrote = metrics.NoWrite
	}
	return a
}

// bank makes some transfers at three servers of a preset. It returns what tellers saw, how many
// sums of theirs were wrong, how often they were refused, and whether a transfer in all pairs was
// then committed at once, as no lock is left.
func bank(t *testing.T, preset string, fault labtest.Fault, transfers int64) (h *serial.History, wrong, refused int, free bool) {
	o := options("", map[string]string{"preset": preset})
	o.Hosts = []string{serveFaulty(t, preset, fault), serveFaulty(t, preset, fault), serveFaulty(t, preset, fault)}
	d, s, seed := opened(t, o, driver.Use{CallsInFlight: 1}), drivertest.Suite{Kinds: []kvs.Kind{kvs.Get, kvs.Put, kvs.ReadModifyWrite}}, kvstest.NewRandom(t).Uint64()
	teller := func(id int) *drivertest.Transactor {
		w := s.NewTransactor(t, d, len(o.Hosts), id, seed)
		w.Size = 1
		return w
	}
	all := []*drivertest.Transactor{teller(0)}
	everything := func() serial.Attempt { return transfer(0, 1, 2, 3) }
	all[0].Round(everything)
	var left atomic.Int64
	left.Store(transfers)
	var working sync.WaitGroup
	for id := range 4 {
		w := teller(id + 1)
		all = append(all, w)
		working.Go(func() {
			for tries := time.Duration(0); left.Load() > 0 || tries > 0; {
				ok := w.Round(func() serial.Attempt {
					if rand.IntN(5) == 0 || left.Add(-1) < 0 {
						return audit()
					}
					return transfer(rand.IntN(pairs))
				})
				if tries++; !ok || w.Last.Attempts[0].Outcome != txn.IsAborted {
					tries = 0
				}
				if !ok {
					return
				}
				time.Sleep(rand.N(tries*100*time.Microsecond + 1)) // those who refuse each other try again at different times
			}
		})
	}
	working.Wait()
	before := all[0].Commits
	all[0].Round(everything)
	for _, w := range all {
		refused += len(w.Attempts) - w.Commits - w.Unknown
	}
	h = drivertest.History(all)
	for _, a := range h.Attempts {
		sum := 0
		for _, o := range a.Ops {
			if o.Read == metrics.NoWrite {
				sum += ofPair / 2
			} else {
				sum += amount(o.Read)
			}
		}
		if a.Outcome == serial.Committed && sum != ofPair*len(a.Ops)/2 {
			wrong++
		}
	}
	return h, wrong, refused, all[0].Commits == before+1
}

// Transfers keep the sums of servers of every form, refuse each other, leave no lock, and are
// strictly serializable.
func TestTransfers(t *testing.T) {
	presets, n, all := shapes, int64(100), 0
	if os.Getenv("KVLAB_LONG") == "1" {
		presets, n = labtest.Transactional(), 1000
	}
	for _, preset := range presets {
		t.Run(preset, func(t *testing.T) {
			h, wrong, refused, free := bank(t, preset, labtest.None, n)
			if fault := serial.Check(h); fault != nil || wrong > 0 || !free {
				t.Errorf("fault %+v, %d wrong sums, free %t", fault, wrong, free)
			}
			t.Logf("%d attempts, %d refused", len(h.Attempts), refused)
			all += refused
		})
	}
	if all == 0 {
		t.Error("nothing is refused")
	}
}

// What servers do wrong is found.
func TestFaultyTransactions(t *testing.T) {
	for preset, faults := range map[string][]labtest.Fault{
		"venkateshdb-txn": {labtest.Cleared, labtest.Dropped, labtest.Early, labtest.Lost},
		"sharjain-txn":    {labtest.Cleared, labtest.Early},
	} {
		for _, fault := range faults {
			t.Run(preset+" "+string(fault), func(t *testing.T) {
				for range 10 { // on a busy machine few transfers are at the same time
					h, wrong, _, _ := bank(t, preset, fault, 100)
					if found := serial.Check(h); found != nil {
						t.Logf("%s; %d wrong sums", found.Why, wrong)
						return
					}
				}
				t.Error("not found")
			})
		}
	}
}
