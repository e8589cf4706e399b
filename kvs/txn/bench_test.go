package txn

import (
	"fmt"
	"testing"

	"kvlab/kvs"
	"kvlab/kvs/engine"
)

// steady is a call of 64 transactions of 3 operations, a read-modify-write and two Gets, on
// separate keys, which one Prepare or Run each executes, and the call that commits them.
type steady struct {
	table         *Table
	first, second kvs.Batch
	reply         kvs.Reply
	number        uint64
	step          kvs.Step
}

func newSteady(step kvs.Step) *steady {
	return &steady{table: New(engine.NewMutex(), policies[0]), step: step}
}

func (s *steady) call(fail func(...any)) {
	const transactions = 64
	var value [128]byte
	var key [16]byte
	s.first.Begin(kvs.Head{Owner: 1, Mark: s.number})
	s.second.Begin(kvs.Head{Owner: 1, Mark: s.number})
	for i := range uint64(transactions) {
		p := kvs.Part{Step: s.step, Number: s.number + i, Ops: 3}
		s.first.Part(&p)
		for op := range uint64(3) {
			name := fmt.Appendf(key[:0], "%d", 3*i+op)
			if op == 0 {
				s.first.Append(kvs.ReadModifyWrite, name, value[:])
			} else {
				s.first.Get(name)
			}
		}
		p = kvs.Part{Step: kvs.Commit, Number: s.number + i}
		s.second.Part(&p)
	}
	s.number += transactions
	s.execute(&s.first, fail)
	if s.step == kvs.Prepare {
		s.execute(&s.second, fail)
	}
}

func (s *steady) execute(batch *kvs.Batch, fail func(...any)) {
	s.reply.Reset()
	tally, err := s.table.Execute(batch, &s.reply, 0)
	if err != nil || tally.Refused > 0 {
		fail(tally.Refused, " refused: ", err)
	}
	s.reply.Free()
}

// BenchmarkExecute measures a transaction of 3 operations, in calls of 64.
func BenchmarkExecute(b *testing.B) {
	for step, name := range map[kvs.Step]string{kvs.Run: "run", kvs.Prepare: "prepare+commit"} {
		b.Run(name, func(b *testing.B) {
			s := newSteady(step)
			s.call(b.Fatal)
			b.ReportAllocs()
			b.ResetTimer()
			for range b.N/64 + 1 {
				s.call(b.Fatal)
			}
		})
	}
}
