package labtest

import (
	"errors"
	"fmt"
	"strconv"
)

// transactional are the servers with transactions, by their forms' presets. The names and types
// of the fields are those of teams.
var transactional = map[string]func(*locked) any{
	"venkateshdb-txn": func(l *locked) any { return &lockFailed{l} },
	"shafin-txn":      func(l *locked) any { return &lockFail{l} },
	"mrchildren-txn":  func(l *locked) any { return &cannotAcquire{l} },
	"dashree-txn":     func(l *locked) any { return &acked{l} },
	"raja-turnin":     func(l *locked) any { return &denied{l} },
	"raja-txn":        func(l *locked) any { return &statuses{l} },
	"raja-woundwait":  func(l *locked) any { return &prepared{statuses{l}} },
	"citywatch-txn":   func(l *locked) any { return &operations{l} },
	"sacatrash-txn":   func(l *locked) any { return &embedded{l} },
	"kangyang-txn":    func(l *locked) any { return &voting{locked: l} },
	"sharjain-txn":    func(l *locked) any { return &twice{l} },
}

type (
	none    = struct{}
	success = struct{ Success bool }
)

func (t Txid) String() string { return strconv.FormatUint(uint64(t), 10) }

type lockFailed struct{ l *locked }

type (
	txidGet = struct {
		Txid      Txid
		Key       string
		Timestamp uint64
	}
	txidPut = struct {
		Txid       Txid
		Key, Value string
		Timestamp  uint64
	}
	txidEnd = struct {
		Txid Txid
		Lead bool
	}
	valueOrFailed = struct {
		Value      string
		LockFailed bool
	}
	failed = struct{ LockFailed bool }
)

func (s *lockFailed) Get(q *txidGet, p *valueOrFailed) error {
	value, ok := s.l.read(q.Txid.String(), q.Key, false)
	p.Value, p.LockFailed = value, !ok
	return nil
}

func (s *lockFailed) Put(q *txidPut, p *failed) error {
	p.LockFailed = !s.l.write(q.Txid.String(), q.Key, q.Value)
	return nil
}

func (s *lockFailed) Commit(q *txidEnd, p *success) error {
	p.Success = s.l.end(q.Txid.String(), true)
	return nil
}

func (s *lockFailed) Abort(q *txidEnd, p *success) error {
	p.Success = s.l.end(q.Txid.String(), false)
	return nil
}

type lockFail struct{ l *locked }

type (
	idGet   = struct{ Key, TransactionID string }
	idPut   = struct{ Key, Value, TransactionID string }
	idAbort = struct{ TransactionID string }
	idEnd   = struct {
		TransactionID string
		Lead          bool
	}
	valueOrFail = struct {
		Value             string
		Success, LockFail bool
	}
	fail = struct{ Success, LockFail bool }
)

func (s *lockFail) Get(q *idGet, p *valueOrFail) error {
	value, ok := s.l.read(q.TransactionID, q.Key, false)
	*p = valueOrFail{value, ok && value != "", !ok}
	return nil
}

func (s *lockFail) Put(q *idPut, p *fail) error {
	p.Success = s.l.write(q.TransactionID, q.Key, q.Value)
	p.LockFail = !p.Success
	return nil
}

func (s *lockFail) Commit(q *idEnd, p *success) error {
	p.Success = s.l.end(q.TransactionID, true)
	return nil
}

func (s *lockFail) Abort(q *idAbort, p *success) error {
	p.Success = s.l.end(q.TransactionID, false)
	return nil
}

// cannotAcquire forgets a transaction that it refuses.
type cannotAcquire struct{ l *locked }

type (
	numberGet = struct {
		Key  string
		Txid uint64
	}
	numberPut = struct {
		Key, Value string
		Txid       uint64
	}
	numberEnd = struct {
		Txid uint64
		Lead bool
	}
	numberAbort = struct{ Txid uint64 }
)

func (s *cannotAcquire) Get(q *numberGet, p *GetReply) (err error) {
	p.Value, err = s.refused(q.Txid, func(id string) (string, bool) { return s.l.read(id, q.Key, false) })
	return err
}

func (s *cannotAcquire) Put(q *numberPut, _ *none) error {
	_, err := s.refused(q.Txid, func(id string) (string, bool) { return "", s.l.write(id, q.Key, q.Value) })
	return err
}

func (s *cannotAcquire) refused(number uint64, do func(string) (string, bool)) (string, error) {
	id := Txid(number).String()
	value, ok := do(id)
	if !ok {
		s.l.end(id, false)
		//lint:ignore ST1005 the form's servers say so
		return "", errors.New("Cannot acquire the lock of a key")
	}
	return value, nil
}

func (s *cannotAcquire) Commit(q *numberEnd, _ *none) error {
	s.l.end(Txid(q.Txid).String(), true)
	return nil
}

func (s *cannotAcquire) Abort(q *numberAbort, _ *none) error {
	if !s.l.end(Txid(q.Txid).String(), false) {
		return errors.New("no such transaction")
	}
	return nil
}

// acked has ids of 32 bits, and another type of them for each call.
type acked struct{ l *locked }

type (
	smallGet = struct {
		Key                     string
		TransactionId, ClientId int
	}
	smallPut = struct {
		Key, Value    string
		TransactionId uint32
		ClientId      int
	}
	smallEnd = struct {
		ClientId      int
		TransactionId uint32
		Lead          bool
	}
	valueAck = struct {
		Value string
		Ack   bool
	}
)

func (s *acked) Get(q *smallGet, p *valueAck) error {
	p.Value, p.Ack = s.l.read(fmt.Sprint(q.ClientId, " ", q.TransactionId), q.Key, false)
	return nil
}

func (s *acked) Put(q *smallPut, p *AckedReply) error {
	p.Ack = s.l.write(fmt.Sprint(q.ClientId, " ", q.TransactionId), q.Key, q.Value)
	return nil
}

func (s *acked) Commit(q *smallEnd, p *AckedReply) error {
	p.Ack = s.l.end(fmt.Sprint(q.ClientId, " ", q.TransactionId), true)
	return nil
}

func (s *acked) Abort(q *smallEnd, p *AckedReply) error {
	p.Ack = s.l.end(fmt.Sprint(q.ClientId, " ", q.TransactionId), false)
	return nil
}

// pair is an id of two numbers.
type pair struct{ Hi, Lo uint64 }

func (p pair) String() string { return fmt.Sprint(p.Hi, " ", p.Lo) }

type (
	pairGet = struct {
		TxID pair
		Key  string
	}
	pairPut = struct {
		TxID       pair
		Key, Value string
	}
	pairBegin = struct{ TxID pair }
	pairEnd   = struct {
		TxID pair
		Flag bool
	}
	pairAnswer = struct{ TxID pair }
	statusOf   = struct {
		TxID   pair
		Status int
	}
	valueStatus = struct {
		TxID   pair
		Value  string
		Status int
	}
)

type denied struct{ l *locked }

func (s *denied) Get(q *pairGet, p *valueStatus) error {
	value, ok := s.l.read(q.TxID.String(), q.Key, false)
	if !ok {
		return errors.New("LOCK_DENIED")
	}
	p.TxID, p.Value = q.TxID, value
	return nil
}

func (s *denied) Put(q *pairPut, p *statusOf) error {
	if !s.l.write(q.TxID.String(), q.Key, q.Value) {
		return errors.New("LOCK_DENIED")
	}
	p.TxID = q.TxID
	return nil
}

func (s *denied) Commit(q *pairEnd, p *pairAnswer) error {
	if p.TxID = q.TxID; !s.l.end(q.TxID.String(), true) {
		return errors.New("TXN_NOT_FOUND")
	}
	return nil
}

func (s *denied) Abort(q *pairEnd, p *pairAnswer) error {
	if p.TxID = q.TxID; !s.l.end(q.TxID.String(), false) {
		return errors.New("TXN_NOT_FOUND")
	}
	return nil
}
