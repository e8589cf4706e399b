package lab_test

import (
	"fmt"
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
	"kvlab/kvs/history/serial"
	"kvlab/kvs/txn"
	"kvlab/metrics"
)

// bank is a store whose accounts are pairs with a constant sum. A transfer sets how much of the
// sum each account of a pair has, and reads what it had.
type bank struct {
	*testing.T
	d        driver.Transactional
	servers  int
	began    time.Time
	left     atomic.Int64 // transfers
	refused  atomic.Int64
	mu       sync.Mutex
	history  serial.History // guarded by mu
	wrongSum string         // likewise: the first
}

const (
	accounts = 40
	ofPair   = 2000 // the sum of a pair
)

// teller is a worker of the bank.
type teller struct {
	*bank
	*rand.Rand
	driver.Transactor
	id       int
	writes   uint32
	number   uint32
	round    driver.Transactions
	attempts []serial.Attempt // of the round
}

func account(i uint32) []byte { return fmt.Appendf(nil, "account%d", i) }

func (b *bank) teller(id int, seed uint64) *teller {
	conns := make([]driver.Conn, b.servers)
	for server := range conns {
		conn, _, err := b.d.Dial(b.Context(), server, id)
		if err != nil {
			b.Fatal(err)
		}
		b.Cleanup(func() { conn.Close() })
		conns[server] = conn
	}
	t, err := b.d.Transactor(conns)
	if err != nil {
		b.Fatal(err)
	}
	return &teller{bank: b, Rand: rand.New(rand.NewPCG(seed, uint64(id))), Transactor: t, id: id}
}

// transfer returns a transfer between the accounts of a pair, with those of others before it.
func (t *teller) transfer(pairs ...int) (a serial.Attempt) {
	t.number++
	a = serial.Attempt{Worker: uint16(t.id), Number: t.number}
	for _, pair := range pairs {
		for _, i := range t.Perm(2) {
			a.Ops = append(a.Ops, serial.Op{Key: uint32(2*pair + i), Reads: true, Wrote: 1})
		}
	}
	return a
}

// audit returns a transaction that reads some pairs.
func (t *teller) audit() (a serial.Attempt) {
	a = t.transfer(t.Perm(accounts / 2)[:3]...)
	for i := range a.Ops {
		a.Ops[i].Wrote = metrics.NoWrite
	}
	return a
}

// add adds an attempt to the round, which writes new values.
func (t *teller) add(a serial.Attempt) {
	of := driver.Attempt{First: len(t.round.Ops)}
	amounts := map[uint32]int{}
	ops := make([]serial.Op, len(a.Ops))
	for i, o := range a.Ops {
		op := kvs.Op{Kind: kvs.Get, Key: account(o.Key)}
		if o.Wrote != metrics.NoWrite {
			t.writes++
			o.Wrote = metrics.MakeWriteID(0, t.id, t.writes)
			amount, second := amounts[o.Key^1]
			if amounts[o.Key] = ofPair - amount; !second {
				amounts[o.Key] = t.IntN(ofPair)
			}
			op.Kind, op.Value = kvs.ReadModifyWrite, fmt.Appendf(nil, "%d %d", amounts[o.Key], o.Wrote)
		}
		ops[i] = serial.Op{Key: o.Key, Reads: true, Wrote: o.Wrote}
		t.round.Ops = append(t.round.Ops, op)
		t.round.Places = append(t.round.Places, uint16(int(o.Key)%t.servers))
	}
	a.Ops, of.End = ops, len(t.round.Ops)
	t.round.Attempts, t.attempts = append(t.round.Attempts, of), append(t.attempts, a)
}

// execute executes the round, and returns what was refused.
func (t *teller) execute() (refused []serial.Attempt, err error) {
	t.round.Age = uint64(time.Since(t.began)) + 1
	err = t.Transact(&t.round)
	for i := range t.attempts {
		a, of := &t.attempts[i], &t.round.Attempts[i]
		a.CallNs, a.ReturnNs = int64(of.Sent.Sub(t.began)), int64(of.Came.Sub(t.began))
		switch {
		case err != nil || of.Outcome == txn.IsUnknown:
			a.Outcome = serial.Unknown
		case of.Outcome == txn.IsAborted:
			a.Outcome = serial.Aborted
			again := *a
			again.Try++
			refused = append(refused, again)
		default:
			t.read(a, t.round.Results[of.First:of.End])
		}
	}
	t.mu.Lock()
	t.history.Attempts = append(t.history.Attempts, t.attempts...)
	t.mu.Unlock()
	t.refused.Add(int64(len(refused)))
	t.round.Ops, t.round.Places, t.round.Attempts, t.attempts = t.round.Ops[:0], t.round.Places[:0], t.round.Attempts[:0], nil
	return refused, err
}

// read takes what a committed attempt has read, and adds it up.
func (t *teller) read(a *serial.Attempt, results []driver.Result) {
	a.Outcome = serial.Committed
	sum := 0
	for i, r := range results {
		var amount int
		if _, err := fmt.Sscanf(string(r.Value), "%d %d", &amount, &a.Ops[i].Read); err != nil || !r.Found || !r.Read {
			if t.number > 1 || t.id > 0 {
				t.Errorf("account %d has %+v: %v", a.Ops[i].Key, r, err)
			}
		}
		sum += amount
	}
	if want := ofPair * len(results) / 2; sum != want && (t.number > 1 || t.id > 0) {
		t.mu.Lock()
		t.wrongSum = fmt.Sprintf("the accounts of %+v have %d, want %d", a, sum, want)
		t.mu.Unlock()
	}
}

// work makes transfers until none is left.
func (t *teller) work() error {
	var again []serial.Attempt
	for t.left.Load() > 0 || len(again) > 0 {
		for _, a := range again {
			t.add(a)
		}
		for len(t.round.Attempts) < 3 && t.left.Load() > 0 {
			if t.IntN(5) == 0 {
				t.add(t.audit())
			} else if t.left.Add(-1) >= 0 {
				t.add(t.transfer(t.IntN(accounts / 2)))
			}
		}
		var err error
		if again, err = t.execute(); err != nil {
			return err
		}
		if len(again) > 0 { // those who refuse each other try again at different times
			time.Sleep(rand.N(time.Duration(again[0].Try) * 100 * time.Microsecond))
		}
	}
	return nil
}

// served returns a bank whose servers have a preset's form, and a fault.
func served(t *testing.T, preset string, fault labtest.Fault) *bank {
	o := options("", map[string]string{"preset": preset})
	o.Hosts, o.CallTimeout = nil, 10*time.Second
	for range 3 {
		o.Hosts = append(o.Hosts, serveFaulty(t, preset, fault))
	}
	return &bank{T: t, d: opened(t, o, driver.Use{CallsInFlight: 1}).(driver.Transactional), servers: len(o.Hosts), began: time.Now()}
}

// transfers makes some transfers between new accounts. It returns whether one that takes all
// accounts is then committed at once, as no lock is left.
func (b *bank) transfers(n int64) (free bool) {
	seed := kvstest.NewRandom(b.T).Uint64()
	all := []*teller{b.teller(0, seed)}
	all[0].add(all[0].transfer(all[0].Perm(accounts / 2)...))
	if refused, err := all[0].execute(); err != nil || refused != nil {
		b.Fatalf("the first transfer: %v, %v", refused, err)
	}
	b.left.Store(n)
	var working sync.WaitGroup
	for i := range 4 {
		w := b.teller(i+1, seed)
		all = append(all, w)
		working.Go(func() {
			if err := w.work(); err != nil {
				b.Error(err)
			}
		})
	}
	working.Wait()
	all[0].add(all[0].transfer(all[0].Perm(accounts / 2)...))
	refused, err := all[0].execute()
	if err != nil {
		b.Error(err)
	}
	for _, w := range all {
		b.history.Spans = append(b.history.Spans, metrics.WorkerSpan{Worker: w.id, Last: w.writes, EndedNs: int64(time.Since(b.began))})
	}
	for i := range uint32(accounts) {
		b.history.Keys = append(b.history.Keys, string(account(i)))
	}
	return refused == nil
}

// Transfers keep the sums of servers of every form, refuse each other, leave no lock, and are
// strictly serializable.
func TestTransfers(t *testing.T) {
	for _, preset := range labtest.Transactional() {
		t.Run(preset, func(t *testing.T) {
			b, n := served(t, preset, labtest.None), int64(100)
			if os.Getenv("KVLAB_LONG") == "1" {
				n = 1000
			}
			free := b.transfers(n)
			if fault := serial.Check(&b.history); fault != nil || b.wrongSum != "" || !free || b.refused.Load() == 0 {
				t.Errorf("fault %+v, %s, free %t, %d refused", fault, b.wrongSum, free, b.refused.Load())
			}
			t.Logf("%d attempts, %d refused, %v", len(b.history.Attempts), b.refused.Load(), time.Since(b.began))
		})
	}
}

// What servers do wrong is found, on a few keys.
func TestFaultyTransactions(t *testing.T) {
	for preset, faults := range map[string][]labtest.Fault{
		"venkateshdb-txn": {labtest.Cleared, labtest.Dropped, labtest.Early, labtest.Lost},
		"sharjain-txn":    {labtest.Cleared, labtest.Early},
	} {
		for _, fault := range faults {
			t.Run(preset+" "+string(fault), func(t *testing.T) {
				for range 10 { // on a busy machine transfers may be rarely at the same time
					b := served(t, preset, fault)
					b.transfers(100)
					if found := serial.Check(&b.history); found != nil {
						t.Log(found.Why, b.wrongSum)
						return
					}
				}
				t.Error("not found")
			})
		}
	}
}
