package etcd

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/mvccpb"
	"golang.org/x/sync/errgroup"

	"kvlab/kvs"
	"kvlab/kvs/driver"
	kvtxn "kvlab/kvs/txn"
	"kvlab/kvs/wire"
)

// Transactor returns what executes a worker's transactions.
func (d *client) Transactor(conns []driver.Conn) (driver.Transactor, error) {
	return transactor{conns[0].(*conn)}, nil
}

// transactor executes the transactions of a round at the same time. One that reads and writes is
// a Txn of Ranges, and then one of Puts that compares the revisions of what was read. Others are
// one Txn (https://etcd.io/docs/v3.5/learning/api/#transaction).
type transactor struct{ *conn }

// concurrent is how many transactions of a worker etcd has at the same time.
const concurrent = 64

// Transact executes a round.
func (t transactor) Transact(r *driver.Transactions) error {
	ctx, cancel := context.WithTimeoutCause(t.ctx, t.timeout, fmt.Errorf("%w: no reply within %v", wire.ErrTimeout, t.timeout))
	defer cancel()
	r.Results = slices.Grow(r.Results[:0], len(r.Ops))[:len(r.Ops)]
	clear(r.Results)
	t.meter.Take()
	var cost driver.Cost
	var mu sync.Mutex // guards cost
	group, inner := errgroup.WithContext(ctx)
	group.SetLimit(concurrent)
	for i := range r.Attempts {
		group.Go(func() error {
			a := &r.Attempts[i]
			a.Outcome, a.Why, a.Sent = kvtxn.IsCommitted, kvs.Done, time.Now()
			calls, err := t.attempt(inner, a, r.Ops[a.First:a.End], r.Results[a.First:a.End])
			a.Came = time.Now()
			mu.Lock()
			defer mu.Unlock()
			cost.Calls, cost.Took = cost.Calls+calls, cost.Took+a.Came.Sub(a.Sent)
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return &driver.ServerError{Err: t.failure(ctx, r.Ops[0].Kind, err)}
	}
	sent, received := t.meter.Take()
	cost.Sent, cost.Received = uint64(sent), uint64(received)
	r.Costs = append(r.Costs[:0], cost)
	return nil
}

// attempt executes an attempt, and returns how many calls it took.
func (t transactor) attempt(ctx context.Context, a *driver.Attempt, ops []kvs.Op, results []driver.Result) (calls uint64, err error) {
	var request pb.TxnRequest
	if calls, err = t.read(ctx, ops, results, &request); err != nil {
		return calls, err
	}
	for i := range ops {
		// etcd takes one write of a key, the last one.
		if op := &ops[i]; op.Kind != kvs.Get && kvtxn.OwnWrite(ops[i+1:], op.Key) == nil {
			request.Success = append(request.Success, writing(op))
		}
	}
	if len(request.Success) == 0 {
		return calls, nil
	}
	response, err := t.kv.Txn(ctx, &request)
	if err != nil {
		return calls, err
	}
	if calls++; !response.Succeeded {
		a.Outcome, a.Why = kvtxn.IsAborted, kvs.Conflict
	}
	for i := range ops {
		if op := &ops[i]; op.Kind != kvs.Get || kvtxn.OwnWrite(ops[:i], op.Key) != nil {
			results[i].Version = uint64(response.Header.Revision)
		}
	}
	return calls, nil
}

// read reads the keys that an attempt reads or deletes before it writes them, at one revision, and
// adds what the writes compare. A key that is not there has the revision 0.
func (t transactor) read(ctx context.Context, ops []kvs.Op, results []driver.Result, write *pb.TxnRequest) (calls uint64, err error) {
	var request pb.TxnRequest
	var read []int // the operations of its Ranges
	for i := range ops {
		op, result := &ops[i], &results[i]
		switch own := kvtxn.OwnWrite(ops[:i], op.Key); {
		case !op.Kind.Reads() && op.Kind != kvs.Delete:
		case own != nil:
			set(result, op.Kind, own.Kind != kvs.Delete, own.Value)
		default:
			read = append(read, i)
			request.Success = append(request.Success, &pb.RequestOp{Request: &pb.RequestOp_RequestRange{RequestRange: &pb.RangeRequest{Key: op.Key}}})
		}
	}
	if len(read) == 0 {
		return 0, nil
	}
	response, err := t.kv.Txn(ctx, &request)
	if err != nil {
		return 0, err
	}
	for n, i := range read {
		pair := &mvccpb.KeyValue{}
		if pairs := response.Responses[n].GetResponseRange().GetKvs(); len(pairs) > 0 {
			pair = pairs[0]
		}
		set(&results[i], ops[i].Kind, pair.ModRevision > 0, pair.Value)
		results[i].Version = uint64(response.Header.Revision)
		write.Compare = append(write.Compare, &pb.Compare{Key: ops[i].Key, Target: pb.Compare_MOD, TargetUnion: &pb.Compare_ModRevision{ModRevision: pair.ModRevision}})
	}
	return 1, nil
}

// set sets the result of an operation that met a value, or none.
func set(r *driver.Result, kind kvs.Kind, found bool, value []byte) {
	if r.Read = kind.Reads() || !found; kind.Reads() && found {
		r.Found, r.Value = true, value
	}
}

// writing returns the request of a write.
func writing(op *kvs.Op) *pb.RequestOp {
	if op.Kind == kvs.Delete {
		return &pb.RequestOp{Request: &pb.RequestOp_RequestDeleteRange{RequestDeleteRange: &pb.DeleteRangeRequest{Key: op.Key}}}
	}
	return &pb.RequestOp{Request: &pb.RequestOp_RequestPut{RequestPut: &pb.PutRequest{Key: op.Key, Value: op.Value}}}
}
