// Package labtest has servers of the forms that the lab driver drives, and of servers that
// are wrong now and then.
package labtest

import (
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"net"
	"net/http"
	"net/rpc"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// Fault is what a server does wrong.
type Fault string

const (
	None  Fault = "none"
	Lost  Fault = "lost"  // a Put is acknowledged and not executed
	Stale Fault = "stale" // a Get returns the value before the last
	Wrong Fault = "wrong" // a Get returns a value with a flipped bit
)

// Every is how many operations on keys that are not new there are for one with the fault, on
// average. What a client loads is right.
const Every = 200

// Store is what a server keeps.
type Store struct {
	mu       sync.Mutex
	now, old map[string]string // guarded by mu
	fault    Fault
	random   *rand.Rand // guarded by mu
}

// NewStore returns an empty store.
func NewStore(fault Fault, seed uint64) *Store {
	return &Store{now: map[string]string{}, old: map[string]string{}, fault: fault, random: rand.New(rand.NewPCG(seed, 0))}
}

func (s *Store) get(key string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	value, old := s.now[key], s.old[key]
	if old == "" || s.random.IntN(Every) != 0 {
		return value
	}
	switch s.fault {
	case Stale:
		return old
	case Wrong:
		flipped := []byte(value)
		flipped[s.random.IntN(len(flipped))] ^= 1 << s.random.IntN(8)
		return string(flipped)
	}
	return value
}

func (s *Store) put(key, value string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.fault == Lost && s.now[key] != "" && s.random.IntN(Every) == 0 {
		return
	}
	s.old[key], s.now[key] = s.now[key], value
}

// Len returns the number of keys.
func (s *Store) Len() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.now)
}

func (s *Store) do(key, value string, read bool) string {
	if read {
		return s.get(key)
	}
	s.put(key, value)
	return ""
}

// Word is the first argument of a test's program that is to run Main.
const Word = "lab-server"

// Main is a program that serves on a port of loopback, and returns its error. Its arguments
// are the port, a preset, a fault or "none", and a seed.
func Main(args []string) error {
	if len(args) != 4 {
		return fmt.Errorf("arguments %q: want a port, a preset, a fault and a seed", args)
	}
	seed, err := strconv.ParseUint(args[3], 10, 64)
	if err != nil {
		return err
	}
	l, err := net.Listen("tcp", net.JoinHostPort("127.0.0.1", args[0]))
	if err != nil {
		return err
	}
	return Serve(l, args[1], NewStore(Fault(args[2]), seed))
}

// services are the servers by their forms' presets.
var services = map[string]func(*Store) any{
	"base":         func(s *Store) any { return &base{s} },
	"clawcodes":    func(s *Store) any { return &opTypes{s} },
	"dashree":      func(s *Store) any { return &numbered{s} },
	"dashree-gets": func(s *Store) any { return &keyLists{s} },
	"citywatch":    func(s *Store) any { return &requestIDs{Store: s, answered: map[int64][]string{}} },
	"sacatrash":    func(s *Store) any { return &batches{s} },
	"kangyang":     func(s *Store) any { return &indexed{s} },
	"gianghta":     func(s *Store) any { return &batchGets{base{s}} },
	"haoren":       func(s *Store) any { return &pairs{s} },
	"venkateshdb":  func(s *Store) any { return &stamped{s} },
	transactions:   func(s *Store) any { return &uncommitted{s} },
}

// transactions is a form that has no preset: its calls have the fields of a transaction.
const transactions = "transactions"

// Presets returns the forms that Serve knows and presets have, in order.
func Presets() []string {
	names := slices.Sorted(maps.Keys(services))
	return slices.DeleteFunc(names, func(name string) bool { return name == transactions })
}

// Transactional returns the forms that have transactions, in order.
func Transactional() []string { return slices.Sorted(maps.Keys(transactional)) }

// Serve serves a store in a preset's form by HTTP until the listener is closed.
func Serve(l net.Listener, preset string, s *Store) error {
	server, err := NewServer(preset, s)
	if err != nil {
		return err
	}
	return http.Serve(l, server)
}

// NewServer returns a server of a store in a preset's form.
func NewServer(preset string, s *Store) (*rpc.Server, error) {
	service, ok := services[preset]
	if with := transactional[preset]; with != nil {
		service, ok = func(s *Store) any { return with(newLocked(s)) }, true
	}
	if !ok {
		return nil, fmt.Errorf("preset %q: want one of %s", preset, strings.Join(append(Presets(), Transactional()...), ", "))
	}
	server := rpc.NewServer()
	return server, server.RegisterName("KVService", service(s))
}

type (
	GetArgs  struct{ Key string }
	GetReply struct{ Value string }
	PutArgs  struct{ Key, Value string }
	PutReply struct{}
	Op       struct {
		Key, Value string
		IsRead     bool
	}
	Values struct{ Values []string }
)

func (s *Store) all(ops []Op, reply *Values) error {
	for _, op := range ops {
		reply.Values = append(reply.Values, s.do(op.Key, op.Value, op.IsRead))
	}
	return nil
}

type base struct{ *Store }

func (b *base) Get(args *GetArgs, reply *GetReply) error {
	if args.Key == "fails" {
		return errors.New("as the test wants it")
	}
	reply.Value = b.get(args.Key)
	return nil
}

func (b *base) Put(args *PutArgs, _ *PutReply) error {
	b.put(args.Key, args.Value)
	return nil
}

type opTypes struct{ *Store }

type (
	OpTypeArgs struct {
		Operations []struct{ OpType, Key, Value string }
	}
	OpTypeReply struct{ Results []string }
)

func (o *opTypes) BatchOp(args *OpTypeArgs, reply *OpTypeReply) error {
	for _, op := range args.Operations {
		if op.OpType != "GET" && op.OpType != "PUT" {
			return fmt.Errorf("operation %q", op.OpType)
		}
		reply.Results = append(reply.Results, o.do(op.Key, op.Value, op.OpType == "GET"))
	}
	return nil
}

type numbered struct{ *Store }

type NumberedArgs struct {
	Operations []struct {
		Type       int
		Key, Value string
	}
}

// NumberedReply has a list of errors, as that of a team.
type NumberedReply struct {
	Values []string
	Errors []error
}

func (n *numbered) ExecuteBatch(args *NumberedArgs, reply *NumberedReply) error {
	for _, op := range args.Operations {
		reply.Values = append(reply.Values, n.do(op.Key, op.Value, op.Type == 0))
	}
	reply.Errors = make([]error, len(args.Operations))
	return nil
}

type keyLists struct{ *Store }

type (
	KeysArgs   struct{ Key []string }
	KeysReply  struct{ Value []string }
	AckedReply struct{ Ack bool }
)

func (k *keyLists) Get(args *KeysArgs, reply *KeysReply) error {
	for _, key := range args.Key {
		reply.Value = append(reply.Value, k.get(key))
	}
	return nil
}

func (k *keyLists) Put(args *PutArgs, reply *AckedReply) error {
	k.put(args.Key, args.Value)
	reply.Ack = true
	return nil
}

// requestIDs answers a known id without executing anything.
type requestIDs struct {
	*Store
	mu       sync.Mutex
	answered map[int64][]string
}

type RequestArgs struct {
	RequestID int64
	Data      []Op
}

func (r *requestIDs) Process_Batch(args *RequestArgs, reply *Values) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	known, ok := r.answered[args.RequestID]
	if ok {
		reply.Values = known
		return nil
	}
	err := r.all(args.Data, reply)
	r.answered[args.RequestID] = reply.Values
	return err
}

// stamped executes a batch in the order of its operations' stamps. It fails if they do not
// grow.
type stamped struct{ *Store }

type (
	StampedArgs struct {
		Requests []struct {
			Key, Value string
			IsRead     bool
			Timestamp  uint64
		}
	}
	StampedReply struct{ Responses []GetReply }
)

func (s *stamped) BatchRequest(args *StampedArgs, reply *StampedReply) error {
	last := uint64(0)
	for _, op := range args.Requests {
		if op.Timestamp <= last {
			return fmt.Errorf("stamp %d after %d", op.Timestamp, last)
		}
		last = op.Timestamp
		reply.Responses = append(reply.Responses, GetReply{s.do(op.Key, op.Value, op.IsRead)})
	}
	return nil
}

// uncommitted takes the calls of transactions, and commits nothing.
type uncommitted struct{ *Store }

type Txid uint64

func (u *uncommitted) Get(args *struct {
	Txid Txid
	Key  string
}, reply *GetReply) error {
	reply.Value = u.get(args.Key)
	return nil
}

func (u *uncommitted) Put(args *struct {
	Txid       Txid
	Key, Value string
}, _ *PutReply) error {
	u.put(args.Key, args.Value)
	return nil
}

type batches struct{ *Store }

func (b *batches) Batch(args *struct{ Ops []Op }, reply *Values) error { return b.all(args.Ops, reply) }

type indexed struct{ *Store }

type IndexedArgs struct {
	Operations []Op
	Indices    []int
}

func (x *indexed) ProcessBatch(args *IndexedArgs, reply *Values) error {
	for i, index := range args.Indices {
		if i != index || len(args.Indices) != len(args.Operations) {
			return fmt.Errorf("indices %v of %d operations", args.Indices, len(args.Operations))
		}
	}
	return x.all(args.Operations, reply)
}

type batchGets struct{ base }

type (
	BatchGetArgs  struct{ Requests []GetArgs }
	BatchGetReply struct{ Responses []GetReply }
)

func (b *batchGets) BatchGet(args *BatchGetArgs, reply *BatchGetReply) error {
	for _, get := range args.Requests {
		reply.Responses = append(reply.Responses, GetReply{b.get(get.Key)})
	}
	return nil
}

type pairs struct{ *Store }

type (
	GetBatchArgs  struct{ Keys []GetArgs }
	GetBatchReply struct{ Values []GetReply }
	PutBatchArgs  struct{ Items []PutArgs }
)

func (p *pairs) GetBatch(args *GetBatchArgs, reply *GetBatchReply) error {
	for _, get := range args.Keys {
		reply.Values = append(reply.Values, GetReply{p.get(get.Key)})
	}
	return nil
}

func (p *pairs) PutBatch(args *PutBatchArgs, _ *PutReply) error {
	for _, put := range args.Items {
		p.put(put.Key, put.Value)
	}
	return nil
}
