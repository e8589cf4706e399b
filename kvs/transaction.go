package kvs

import (
	"encoding/binary"
	"fmt"
)

// A batch of transactions holds parts of them for one server. Its body is
//
//	owner   uvarint  the worker whose attempts these are
//	mark    uvarint  no server holds its attempts with smaller numbers any more
//	age     uvarint  of the call, for the policies that wait: smaller is older
//	parts:
//	  step    1 byte
//	  number  uvarint  of the attempt, among its owner's
//	  owner   uvarint  of Fence and the Settles
//	  count   uvarint  } of Prepare: the servers that take part, one uvarint each
//	  parties          }
//	  count   uvarint  } of Run and Prepare: the operations, as in any batch; no scans
//	  ops              }
//
// The answer to each part is a value: its Status in 1 byte, and for a Run or a Prepare that got
// its locks the version of each operation, uvarints. Then the results follow, as in any reply.
// A batch counts its parts and its operations, and so does its reply.

// Step is what a part asks for.
type Step uint8

// The steps. The numbers are part of the wire format.
const (
	Run          Step = iota // a whole transaction of one server
	Prepare                  // lock, read and vote
	Commit                   // the decision of the attempt's owner
	Abort                    // likewise
	Fence                    // another's attempt: refuse its owner from now on, and tell its state
	SettleCommit             // another's attempt, after a Fence
	SettleAbort              // likewise
	Overdue                  // list attempts whose owner has not decided within the lease

	steps
)

// Status answers a part.
type Status uint8

// The statuses. The numbers are part of the wire format. Those from Conflict to Late refuse a
// Run or a Prepare, which has then left nothing.
const (
	Done      Status = iota // it ran; it voted to commit; it is decided
	Conflict                // another attempt holds a lock
	Died                    // likewise, and it is older
	Wounded                 // an older one took its locks
	Late                    // a lock was not free in time
	Fenced                  // somebody else decides
	Voted                   // of Fence: no decision has come
	Committed               // it was committed before
	Aborted                 // it was aborted before
	Absent                  // the server does not hold it

	statuses
)

var statusNames = [statuses]string{"done", "conflict", "died", "wounded", "late", "fenced", "voted", "committed", "aborted", "absent"}

// String returns the status as a word.
func (s Status) String() string {
	if s >= statuses {
		return "unknown"
	}
	return statusNames[s]
}

// Refuses reports whether a Run or a Prepare with the status has had no effect.
func (s Status) Refuses() bool { return s >= Conflict && s <= Fenced }

// MaxParties is how many servers a transaction touches at most.
const MaxParties = 1 << 8

// Head is what the parts of a batch have in common.
type Head struct{ Owner, Mark, Age uint64 }

// Part is a part of a batch of transactions. Its operations follow it.
type Part struct {
	Step    Step
	Number  uint64
	Owner   uint64   // of the Steps about another's attempt
	Parties []uint16 // of Prepare
	Ops     int      // of Run and Prepare; at least 1
}

func (s Step) others() bool { return s >= Fence && s <= SettleAbort }

// Transactional reports whether the batch is one of transactions.
func (b *Batch) Transactional() bool { return b.transactional }

// SetTransactional makes the batch one of transactions or not, for a codec that fills its Body.
func (b *Batch) SetTransactional(is bool) { b.transactional = is }

// Begin empties the batch for transactions.
func (b *Batch) Begin(h Head) {
	b.Reset()
	b.transactional = true
	for _, n := range [...]uint64{h.Owner, h.Mark, h.Age} {
		b.buf = binary.AppendUvarint(b.buf, n)
	}
}

// Part appends a part. The caller then appends its Ops.
func (b *Batch) Part(p *Part) {
	b.buf = binary.AppendUvarint(append(b.buf, byte(p.Step)), p.Number)
	if p.Step.others() {
		b.buf = binary.AppendUvarint(b.buf, p.Owner)
	}
	if p.Step == Prepare {
		b.buf = binary.AppendUvarint(b.buf, uint64(len(p.Parties)))
		for _, server := range p.Parties {
			b.buf = binary.AppendUvarint(b.buf, uint64(server))
		}
	}
	if p.Step <= Prepare {
		b.buf = binary.AppendUvarint(b.buf, uint64(p.Ops))
	}
	b.n++
}

// Parts walks a batch of transactions.
type Parts struct {
	ops Ops
	bad bool
}

// Parts returns the head and a cursor before the first part.
func (b *Batch) Parts() (h Head, p Parts) {
	p.ops = b.Ops()
	h = Head{p.uvarint(1<<64 - 1), p.uvarint(1<<64 - 1), p.uvarint(1<<64 - 1)}
	return h, p
}

// uvarint reads a number up to most.
func (p *Parts) uvarint(most uint64) uint64 {
	n, size := binary.Uvarint(p.ops.rest)
	if size <= 0 || n > most {
		p.bad = true
		return 0
	}
	p.ops.rest = p.ops.rest[size:]
	return n
}

// Next reads the next part, in the memory of its Parties, and its operations, in the memory of
// ops. ok is false at the end. The error wraps ErrMalformed.
func (p *Parts) Next(part *Part, ops []Op) (_ []Op, ok bool, err error) {
	*part, ops = Part{Parties: part.Parties[:0]}, ops[:0]
	if p.ops.left == 0 && !p.bad {
		return ops, false, p.ops.end()
	}
	if len(p.ops.rest) == 0 || Step(p.ops.rest[0]) >= steps {
		return ops, false, p.broken()
	}
	part.Step, p.ops.rest = Step(p.ops.rest[0]), p.ops.rest[1:]
	p.ops.left--
	part.Number = p.uvarint(1<<64 - 1)
	if part.Step.others() {
		part.Owner = p.uvarint(1<<64 - 1)
	}
	if part.Step == Prepare {
		for range p.uvarint(MaxParties) {
			part.Parties = append(part.Parties, uint16(p.uvarint(1<<16-1)))
		}
	}
	if part.Step <= Prepare {
		part.Ops = int(p.uvarint(uint64(p.ops.left)))
		p.bad = p.bad || part.Ops == 0
	}
	for range part.Ops {
		if p.bad {
			break
		}
		var op Op
		if err := p.ops.one(&op); err != nil {
			return ops, false, err
		}
		if op.Kind.Scans() {
			return ops, false, fmt.Errorf("%w batch: a transaction has a %s", ErrMalformed, op.Kind)
		}
		ops = append(ops, op)
	}
	if p.bad {
		return ops, false, p.broken()
	}
	return ops, true, nil
}

func (p *Parts) broken() error {
	return fmt.Errorf("%w batch: a part of a transaction is truncated or over a limit, %d entries before the end", ErrMalformed, p.ops.left)
}

// Note appends a value that is no operation's result, and returns where its first byte is.
func (r *Reply) Note(value []byte) (at int) {
	r.value(value)
	r.n++
	return len(r.buf) - len(value)
}

// Amend replaces the first byte of a Note.
func (r *Reply) Amend(at int, first byte) {
	if !r.Excess {
		r.buf[at] = first
	}
}

// Answer is the answer to a part.
type Answer struct {
	Status Status
	rest   []byte
}

// Next returns the next number of the answer: a version, or what Overdue lists. ok is false
// at the end.
func (a *Answer) Next() (n uint64, ok bool) {
	n, size := binary.Uvarint(a.rest)
	if size <= 0 {
		return 0, false
	}
	a.rest = a.rest[size:]
	return n, true
}

// Follows reports whether the results of a Run or a Prepare follow its answer. They are worth
// nothing unless the status is Done.
func (a *Answer) Follows() bool { return len(a.rest) > 0 }

// NextAnswer returns the answer to the next part. The error wraps ErrMalformed.
func (r *Results) NextAnswer() (Answer, error) {
	result, err := r.Next()
	if err == nil && (len(result.Value) == 0 || Status(result.Value[0]) >= statuses) {
		err = fmt.Errorf("%w reply: no status of a transaction, %d results before the end", ErrMalformed, r.left)
	}
	if err != nil {
		return Answer{}, err
	}
	return Answer{Status(result.Value[0]), result.Value[1:]}, nil
}
