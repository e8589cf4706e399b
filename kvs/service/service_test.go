package service_test

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"

	"kvlab/internal/kvstest"
	"kvlab/kvs"
	"kvlab/kvs/engine"
	"kvlab/kvs/service"
	"kvlab/metrics"
)

// add adds field by field.
func add(a, b metrics.Counts) metrics.Counts {
	sum, more := reflect.ValueOf(&a).Elem(), reflect.ValueOf(b)
	for i := range sum.NumField() {
		sum.Field(i).SetUint(sum.Field(i).Uint() + more.Field(i).Uint())
	}
	return a
}

// tally counts one call from the outside: by its operations and its results.
func tally(t *testing.T, ops []kvs.Op, reply *kvs.Reply) metrics.Counts {
	t.Helper()
	counts := metrics.Counts{Calls: 1}
	fields := map[kvs.Kind]*uint64{
		kvs.Get: &counts.Gets, kvs.Put: &counts.Puts, kvs.ReadModifyWrite: &counts.ReadModifyWrites, kvs.Insert: &counts.Inserts,
		kvs.Delete: &counts.Deletes, kvs.Scan: &counts.Scans, kvs.ScanPart: &counts.ScanParts,
	}
	for _, op := range ops {
		*fields[op.Kind]++
	}
	results, err := kvstest.DecodeReply(reply)
	if err != nil || len(results) != len(ops) {
		t.Errorf("%d results for %d operations, error %v", len(results), len(ops), err)
	}
	for i, result := range results {
		switch {
		case result.Found || ops[i].Kind == kvs.Delete && !result.Read:
			counts.Hits++
		case result.Read:
			counts.Misses++
		}
	}
	return counts
}

// Counts are exact per peer with many sessions and many calls in each at once,
// while others read them.
func TestServiceCountsAreExact(t *testing.T) {
	const peers, sessions, goroutines, calls = 3, 2, 3, 20
	svc, seeds := service.New(engine.NewMutex()), kvstest.NewRandom(t)
	done := make(chan struct{})
	var reader sync.WaitGroup
	reader.Go(func() {
		last := metrics.Counts{}
		for {
			counts := svc.Counts()["peer0"]
			if counts.Calls < last.Calls || counts.Gets < last.Gets || counts.Puts < last.Puts {
				t.Errorf("counts went back from %+v to %+v", last, counts)
			}
			last = counts
			select {
			case <-done:
				return
			default:
			}
		}
	})
	var mu sync.Mutex
	want := map[string]metrics.Counts{}
	var workers sync.WaitGroup
	for p := range peers {
		peer := fmt.Sprintf("peer%d", p)
		for i := range sessions {
			session := svc.Open(peer)
			session.Dedup = i == 1
			var calling sync.WaitGroup
			for range goroutines {
				random := rand.New(rand.NewPCG(seeds.Uint64(), 0))
				calling.Go(func() {
					var batch kvs.Batch
					var reply kvs.Reply
					sum := metrics.Counts{}
					for range calls {
						ops := kvstest.RandomOps(random, random.IntN(300), kvs.Kinds)
						batch.Reset()
						kvstest.Fill(&batch, ops)
						if err := session.BatchPutGet(&batch, &reply); err != nil {
							t.Error(err)
						}
						sum = add(sum, tally(t, ops, &reply))
					}
					mu.Lock()
					defer mu.Unlock()
					want[peer] = add(want[peer], sum)
				})
			}
			workers.Go(func() {
				calling.Wait()
				session.Close()
				session.Close() // counts once
			})
		}
	}
	workers.Wait()
	close(done)
	reader.Wait()
	got := svc.Counts()
	if len(got) != peers || svc.Conns() != 0 {
		t.Errorf("%d peers and %d sessions, want %d and none", len(got), svc.Conns(), peers)
	}
	for peer := range want {
		if got[peer] != want[peer] {
			t.Errorf("%s: %+v, want %+v", peer, got[peer], want[peer])
		}
	}
}

func TestSessions(t *testing.T) {
	svc := service.New(engine.NewMutex())
	a, b, other := svc.Open("a"), svc.Open("a"), svc.Open("b")
	if n := svc.Conns(); n != 3 {
		t.Errorf("%d sessions, want 3", n)
	}
	for _, s := range []*service.Conn{a, b, other} {
		if err := s.BatchPutGet(new(kvs.Batch), new(kvs.Reply)); err != nil {
			t.Fatal(err)
		}
	}
	a.Close()
	if n := svc.Conns(); n != 2 {
		t.Errorf("%d sessions after a close, want 2", n)
	}
	counts := svc.Counts()
	if counts["a"].Calls != 2 || counts["b"].Calls != 1 {
		t.Errorf("calls %d and %d, want 2 and 1", counts["a"].Calls, counts["b"].Calls)
	}
	counts["a"] = metrics.Counts{} // the map is the caller's
	if svc.Counts()["a"].Calls != 2 {
		t.Error("a caller's write to the counts reached the service")
	}
}

// spy passes on what an engine is given, and panics at a key.
type spy struct {
	kvs.Engine
	seen []string
	most int // operations in one Apply
}

func (s *spy) Apply(ops []kvs.Op, reply *kvs.Reply) {
	s.most = max(s.most, len(ops))
	for _, op := range ops {
		if string(op.Key) == "boom" {
			panic("out of order")
		}
		s.seen = append(s.seen, string(op.Key))
		s.Engine.Apply([]kvs.Op{op}, reply)
	}
}

// An engine sees every operation once, in order, a bounded number at a time.
func TestServiceCutsBatches(t *testing.T) {
	for _, n := range []int{0, 1, 255, 256, 257, 512, 1000} {
		e := &spy{Engine: engine.NewMutex()}
		session := service.New(e).Open("peer")
		var batch kvs.Batch
		for i := range n {
			batch.Get(fmt.Append(nil, i))
		}
		var reply kvs.Reply
		if err := session.BatchPutGet(&batch, &reply); err != nil {
			t.Fatalf("%d operations: %v", n, err)
		}
		if len(e.seen) != n || reply.Len() != n || e.most > 256 {
			t.Errorf("%d operations: the engine saw %d, at most %d at a time; %d results", n, len(e.seen), e.most, reply.Len())
		}
		for i, key := range e.seen {
			if key != fmt.Sprint(i) {
				t.Fatalf("%d operations: number %d has key %s", n, i, key)
			}
		}
	}
}

// A panicking engine answers that call with an error, and no more: the next
// call is served, and the counts stay consistent.
func TestServicePanic(t *testing.T) {
	service := service.New(&spy{Engine: engine.NewMutex()})
	session := service.Open("peer")
	var batch kvs.Batch
	for i := range 400 {
		batch.Get(fmt.Append(nil, i))
	}
	batch.Get([]byte("boom"))
	err := session.BatchPutGet(&batch, new(kvs.Reply))
	if err == nil || !strings.Contains(err.Error(), "panic: out of order") {
		t.Fatalf("error %v, want one that tells of the panic", err)
	}
	counts := service.Counts()["peer"]
	if counts.Hits+counts.Misses != counts.Gets+counts.ReadModifyWrites {
		t.Errorf("%+v: hits and misses are not the reads", counts)
	}
	if counts.Gets != 256 || counts.Calls != 1 {
		t.Errorf("%+v: want the 256 gets of the part that went well, and one call", counts)
	}

	batch.Reset()
	batch.Append(kvs.Put, []byte("key"), []byte("value"))
	batch.Get([]byte("key"))
	var reply kvs.Reply
	if err := session.BatchPutGet(&batch, &reply); err != nil {
		t.Fatalf("the call after the panic: %v", err)
	}
	results, err := kvstest.DecodeReply(&reply)
	if err != nil || string(results[1].Value) != "value" {
		t.Errorf("the call after the panic: results %v, error %v", results, err)
	}
}

func TestServiceMalformedBatch(t *testing.T) {
	service := service.New(engine.NewMutex())
	session := service.Open("peer")
	var good kvs.Batch
	good.Append(kvs.Put, []byte("key"), []byte("value"))
	body := append(good.Frame()[kvs.Headroom:], 9, 9, 9)
	err := session.BatchPutGet(kvstest.Received(body, 2), new(kvs.Reply))
	if !errors.Is(err, kvs.ErrMalformed) {
		t.Errorf("error %v, want one that wraps ErrMalformed", err)
	}
	if counts := service.Counts()["peer"]; counts.Puts != 1 || counts.Calls != 1 {
		t.Errorf("%+v: want the put before the break counted", counts)
	}
}

// Apply is BatchPutGet for operations that are decoded, and a third-party client's are counted apart.
func TestApply(t *testing.T) {
	random := kvstest.NewRandom(t)
	encoded, decoded := service.New(engine.NewMutex()), service.New(engine.NewMutex())
	ours, theirs, third := encoded.Open("peer"), decoded.Open("peer"), decoded.OpenThirdParty()
	var strange metrics.Counts
	for range 50 {
		ops := kvstest.RandomOps(random, random.IntN(700), kvs.Scan)
		var batch kvs.Batch
		kvstest.Fill(&batch, ops)
		var want, got, same kvs.Reply
		if err := errors.Join(ours.BatchPutGet(&batch, &want), theirs.Apply(ops, &got)); err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(got.Frame(), want.Frame()) {
			t.Fatal("Apply and BatchPutGet differ")
		}
		gets := slices.DeleteFunc(ops, func(op kvs.Op) bool { return op.Kind != kvs.Get })
		if err := third.Apply(gets, &same); err != nil {
			t.Fatal(err)
		}
		strange = add(strange, tally(t, gets, &same))
	}
	if got, want := decoded.Counts(), encoded.Counts(); !maps.Equal(got, want) {
		t.Errorf("%+v, want %+v", got, want)
	}
	for range 2 {
		if got := decoded.ThirdParties(); got != strange {
			t.Errorf("third parties' %+v, want %+v", got, strange)
		}
		third.Close()
	}
}

// No third-party client's operation is sampled.
func TestThirdPartiesAreNotSampled(t *testing.T) {
	svc := service.New(engine.NewMutex())
	third := svc.OpenThirdParty()
	ops := make([]kvs.Op, 10_000)
	for i := range ops {
		ops[i] = kvs.Op{Kind: kvs.Put, Key: fmt.Append(nil, i), Value: []byte("value")}
	}
	if err := third.Apply(ops, new(kvs.Reply)); err != nil {
		t.Fatal(err)
	}
	sample := svc.Sample()
	if count, _ := sample.Values(); count != 0 || len(sample.Busiest(1)) != 0 {
		t.Errorf("%d values and cells %v of a third-party client are in the sample", count, sample.Busiest(1))
	}
}
