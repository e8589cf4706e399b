package labtest

import (
	"errors"
	"fmt"
)

// statuses refuses by a status, and knows a transaction from its begin on.
type statuses struct{ l *locked }

func (s *statuses) Begin(q *pairBegin, _ *none) error {
	s.l.begin(q.TxID.String())
	return nil
}

func (s *statuses) Get(q *pairGet, p *valueStatus) error {
	value, ok := s.l.read(q.TxID.String(), q.Key, false)
	if *p = (valueStatus{q.TxID, value, 0}); !ok {
		p.Status = 1
	}
	return nil
}

func (s *statuses) Put(q *pairPut, p *statusOf) error {
	if p.TxID = q.TxID; !s.l.write(q.TxID.String(), q.Key, q.Value) {
		p.Status = 1
	}
	return nil
}

func (s *statuses) Commit(q *pairEnd, p *pairAnswer) error { return (*denied)(s).Commit(q, p) }

func (s *statuses) Abort(q *pairEnd, p *pairAnswer) error { return (*denied)(s).Abort(q, p) }

type prepared struct{ statuses }

func (s *prepared) Prepare(q *pairBegin, p *struct{ Status int }) error {
	if !s.l.prepare(q.TxID.String()) {
		p.Status = 1
		return errors.New("TXN_NOT_FOUND")
	}
	return nil
}

// operations has one method for reads and writes. A reader cannot write: it says so at the read.
type operations struct{ l *locked }

type (
	operation = struct {
		TransactionID int64
		Op            struct {
			Key, Value        string
			IsRead, ForUpdate bool
		}
	}
	phaseTwo = struct {
		TransactionID int64
		Lead          bool
	}
	valueSuccess = struct {
		Value   string
		Success bool
	}
)

func (s *operations) Begin(q *phaseTwo, _ *none) error {
	s.l.begin(fmt.Sprint(q.TransactionID))
	return nil
}

func (s *operations) Process_Operation(q *operation, p *valueSuccess) error {
	if id := fmt.Sprint(q.TransactionID); q.Op.IsRead {
		p.Value, p.Success = s.l.read(id, q.Op.Key, q.Op.ForUpdate)
	} else {
		p.Success = s.l.write(id, q.Op.Key, q.Op.Value)
	}
	return nil
}

func (s *operations) Commit(q *phaseTwo, _ *none) error {
	s.l.end(fmt.Sprint(q.TransactionID), true)
	return nil
}

func (s *operations) Abort(q *phaseTwo, _ *none) error {
	s.l.end(fmt.Sprint(q.TransactionID), false)
	return nil
}

// embedded has structs within structs, which Go promotes and gob does not.
type embedded struct{ l *locked }

type (
	TxID       string
	Response   struct{ Error string }
	GetRequest struct{ Key string }
	PutRequest struct{ Key, Value string }
	txGet      = struct {
		GetRequest
		Tx TxID
	}
	txPut = struct {
		PutRequest
		Tx TxID
	}
	txEnd = struct {
		Tx   TxID
		Lead bool
	}
	GetResponse struct {
		Response
		Value string
	}
	PutResponse struct{ Response }
	txGot       = struct{ GetResponse }
	txWritten   = struct{ PutResponse }
	txEnded     = struct{ Response }
)

func (s *embedded) TxBegin(q *txEnd, _ *txEnded) error {
	s.l.begin(string(q.Tx))
	return nil
}

func (s *embedded) TxGet(q *txGet, p *txGot) error {
	value, ok := s.l.read(string(q.Tx), q.Key, false)
	if p.Value = value; !ok {
		p.Error = "the key is locked"
	}
	return nil
}

func (s *embedded) TxPut(q *txPut, p *txWritten) error {
	if !s.l.write(string(q.Tx), q.Key, q.Value) {
		p.Error = "the key is locked"
	}
	return nil
}

func (s *embedded) TxCommit(q *txEnd, p *txEnded) error {
	if !s.l.end(string(q.Tx), true) {
		p.Error = "no such transaction"
	}
	return nil
}

func (s *embedded) TxAbort(q *txEnd, _ *txEnded) error {
	s.l.end(string(q.Tx), false)
	return nil
}

// voting makes the ids, and tells of a Put that it refuses when it votes.
type voting struct {
	*locked
	last int // guarded by mu
}

type (
	TxnIdOf = struct{ TxnId string }
	votedOf = struct {
		TxnId string
		Vote  bool
	}
	txnGet    = struct{ TxnId, Key string }
	txnPut    = struct{ TxnId, Key, Value string }
	txnCommit = struct {
		TxnId string
		Lead  bool
	}
	valueFound = struct {
		Value string
		Found bool
	}
)

func (s *voting) Begin(_ *none, p *TxnIdOf) error {
	s.mu.Lock()
	s.last++
	p.TxnId = fmt.Sprint("txn-", s.last)
	s.mu.Unlock()
	s.begin(p.TxnId)
	return nil
}

func (s *voting) TxnGet(q *txnGet, p *valueFound) error {
	p.Value, p.Found = s.read(q.TxnId, q.Key, false)
	return nil
}

func (s *voting) TxnPut(q *txnPut, _ *none) error {
	s.write(q.TxnId, q.Key, q.Value)
	return nil
}

func (s *voting) Prepare(q *TxnIdOf, p *votedOf) error {
	*p = votedOf{q.TxnId, s.prepare(q.TxnId)}
	return nil
}

func (s *voting) GlobalCommit(q *txnCommit, _ *none) error {
	s.end(q.TxnId, true)
	return nil
}

func (s *voting) GlobalAbort(q *TxnIdOf, _ *none) error {
	s.end(q.TxnId, false)
	return nil
}

// twice takes each operation twice: to lock the key and to vote, and to apply it and to unlock.
type twice struct{ l *locked }

type (
	twiceGet = struct {
		Key    string
		Commit bool
		TxnID  string
	}
	twicePut = struct {
		Key, Value string
		Commit     bool
		TxnID      string
	}
	keyAbort = struct {
		Key, TxnID string
		IsRead     bool
	}
	valueVote = struct {
		Value string
		Vote  bool
	}
)

func (s *twice) Get(q *twiceGet, p *valueVote) error {
	if p.Vote = true; q.Commit {
		s.l.unlock(q.TxnID, q.Key)
		return nil
	}
	p.Value, p.Vote = s.l.read(q.TxnID, q.Key, false)
	return nil
}

func (s *twice) Put(q *twicePut, p *valueVote) error {
	if p.Vote = true; q.Commit {
		s.l.endKey(q.TxnID, q.Key, true)
		return nil
	}
	p.Vote = s.l.write(q.TxnID, q.Key, q.Value)
	return nil
}

func (s *twice) Abort(q *keyAbort, p *AckedReply) error {
	s.l.endKey(q.TxnID, q.Key, false)
	p.Ack = true
	return nil
}
