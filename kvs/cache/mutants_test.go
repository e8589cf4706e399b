package cache_test

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"testing"

	"kvlab/kvs"
	"kvlab/kvs/cache"
	"kvlab/kvs/engine"
	"kvlab/kvs/engine/enginetest"
	"kvlab/kvs/service"
)

// eachSeed runs a test with a few seeds, and with 20 under KVLAB_LONG=1.
func eachSeed(t *testing.T, test func(t *testing.T, random *rand.Rand)) {
	seeds := uint64(2)
	if os.Getenv("KVLAB_LONG") == "1" {
		seeds = 20
	}
	for seed := range seeds {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) { test(t, rand.New(rand.NewPCG(seed, 0))) })
	}
}

// near is a connection to a service in the same process. It keeps the replies of calls, and
// answers one that is sent again with the reply that it has.
type near struct {
	service *service.Conn
	replies map[*kvs.Call]*kvs.Reply
}

func nearTo(e kvs.Engine) *near {
	s := service.New(e).Open("client")
	s.Versions = true
	return &near{s, map[*kvs.Call]*kvs.Reply{}}
}

func (n *near) Close() error { return nil }

func (n *near) Send(call *kvs.Call) {
	if n.replies[call] == nil {
		n.replies[call] = new(kvs.Reply)
		call.Err = n.service.BatchPutGet(call.Batch, n.replies[call])
	}
}

func (n *near) Wait(call *kvs.Call) error {
	body := n.replies[call].Frame()[kvs.Headroom:]
	copy(call.Reply.Body(len(body), n.replies[call].Len(), false), body)
	delete(n.replies, call)
	return call.Err
}

// A server whose versions are wrong is found: by the digest, or by a wrong value. A right one
// is not.
func TestServerMutants(t *testing.T) {
	for _, wrong := range append(enginetest.VersionMutants, "") {
		t.Run(wrong, func(t *testing.T) {
			eachSeed(t, func(t *testing.T, random *rand.Rand) {
				server := nearTo(enginetest.NewVersionMutant(wrong, random))
				clients := []conn{cache.NewStore(100, 5000).Over(server), cache.NewStore(100, 5000).Over(server)}
				err := compare(clients, random)
				if t.Log(err); (err == nil) != (wrong == "") {
					t.Errorf("error %v", err)
				}
			})
		})
	}
}

// compare has clients make calls in turn, and returns an error at the first that fails, or
// has other results than those of a store without versions.
func compare(clients []conn, random *rand.Rand) error {
	right := service.New(engine.NewMutex()).Open("right")
	for round := range 120 {
		call := newCall(randomOps(random, 1+random.IntN(100)))
		var want kvs.Reply
		if err := right.BatchPutGet(call.Batch, &want); err != nil {
			return err
		}
		at := random.IntN(len(clients))
		clients[at].Send(call)
		if err := clients[at].Wait(call); err != nil {
			return fmt.Errorf("round %d: %w", round, err)
		}
		if got, want := call.Reply.Frame()[kvs.Headroom:], want.Frame()[kvs.Headroom:]; !bytes.Equal(got, want) {
			return fmt.Errorf("round %d: wrong results", round)
		}
	}
	return nil
}

// A client that sends a call again with what it holds then, and not with what it held at
// first, is found: the server answers as it did at first.
func TestRetriedMutant(t *testing.T) {
	eachSeed(t, func(t *testing.T, random *rand.Rand) {
		server := nearTo(engine.NewSyncMap())
		store := cache.NewStore(100, 5000)
		c, other := store.Over(server), store.Over(server)
		found := 0
		for range 50 {
			ops := slices.DeleteFunc(randomOps(random, 60), func(op kvs.Op) bool { return op.Kind == kvs.Delete })
			do(t, c, ops...)
			reads := slices.DeleteFunc(slices.Clone(ops), func(op kvs.Op) bool { return op.Kind != kvs.Get })
			want := do(t, c, reads...)
			call := newCall(reads)
			c.Send(call)
			do(t, other, randomOps(random, 30)...)
			c.Send(call)
			switch err := c.Wait(call); {
			case errors.Is(err, cache.ErrDigest), errors.Is(err, kvs.ErrMalformed): // it held a value at first, and none then
				found++
			case err != nil:
				t.Fatal(err)
			case !slices.EqualFunc(results(t, call.Reply), want, same):
				t.Fatal("a stale value was believed")
			}
		}
		if found < 10 {
			t.Errorf("%d of 50 calls were found", found)
		}
	})
}
