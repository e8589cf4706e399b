package driver

import (
	"time"

	"kvlab/kvs"
	"kvlab/kvs/txn"
)

// Transactional is a Driver of a store that has transactions.
type Transactional interface {
	Driver

	// Transactor returns what executes the transactions of one worker over its connections, one
	// to each server. The worker uses them for nothing else while a round is executed.
	Transactor(conns []Conn) (Transactor, error)
}

// Transactor executes the transactions of one worker. One goroutine uses it.
type Transactor interface {
	// Transact executes a round, and sets the outcome of each attempt, the results of those
	// that are committed, and what the calls cost. When it returns, every server has done what
	// is committed. After an error, a ServerError if it is of one server, the outcomes of all
	// attempts are unknown, and the worker ends.
	Transact(*Transactions) error
}

// ServerError is the error of a call to a server, by its number.
type ServerError struct {
	Server int
	Err    error
}

func (e *ServerError) Error() string { return e.Err.Error() }

func (e *ServerError) Unwrap() error { return e.Err }

// Transactions is a round of attempts of one worker's transactions. A Transactor may execute
// them at the same time, or in any order. It is reused.
type Transactions struct {
	Age      uint64 // of the round's oldest transaction, for policies that wait: smaller is older, and no other worker's is equal
	Attempts []Attempt
	Ops      []kvs.Op // of all attempts; their memory is the worker's. No attempt before wrote their values
	Places   []uint16 // the server of each operation

	Results []Result // of each operation; valid until the next round
	Costs   []Cost   // by server
}

// Attempt is an attempt of a transaction: some operations, executed in their order.
type Attempt struct {
	First, End int // its operations are Ops[First:End]

	Outcome    txn.Outcome
	Why        kvs.Status // why it was aborted
	Sent, Came time.Time  // before its first operation was sent, and after its outcome came
}

// Result is the result of an operation of a committed attempt.
type Result struct {
	kvs.Result
	Version uint64 // as serial.Op has it
}

// Cost is what a round cost at one server.
type Cost struct {
	Calls          uint64
	Sent, Received uint64        // bytes of the calls' bodies
	Took, Served   time.Duration // the sums of the calls' times, and of the server's own
}
