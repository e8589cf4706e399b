package wire

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"kvlab/internal/wiretest"
	"kvlab/kvs"
	"kvlab/kvs/engine"
	"kvlab/kvs/service"
)

// tally is a store that counts how often each key was written.
type tally struct {
	kvs.Engine
	mu     sync.Mutex
	writes map[string]int // guarded by mu
}

func (s *tally) Apply(ops []kvs.Op, reply *kvs.Reply) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, op := range ops {
		if op.Kind.Writes() {
			s.writes[string(op.Key)]++
		}
	}
	s.Engine.Apply(ops, reply)
}

// mortal is the engine of a process. Nothing is applied after the process has been killed.
type mortal struct {
	*tally
	lives  sync.Mutex
	killed bool          // guarded by lives
	enter  chan struct{} // receives before each call is applied; nil: no call waits
}

func (m *mortal) Apply(ops []kvs.Op, reply *kvs.Reply) {
	if m.enter != nil {
		<-m.enter
	}
	m.lives.Lock()
	defer m.lives.Unlock()
	if !m.killed {
		m.tally.Apply(ops, reply)
	}
}

// immortal is a store that outlives the processes that serve it on one address.
type immortal struct {
	*tally
	*revenant
	process *mortal // guarded by revenant.mu
}

func newImmortal(t *testing.T, enter chan struct{}) *immortal {
	t.Helper()
	s := &immortal{tally: &tally{Engine: engine.NewMutex(), writes: map[string]int{}}}
	s.process = &mortal{tally: s.tally, enter: enter}
	s.revenant = newRevenant(t, binaryOptions, s.process)
	return s
}

// kill ends the process, and starts another one on the store.
func (s *immortal) kill() {
	s.revenant.mu.Lock()
	defer s.revenant.mu.Unlock()
	s.process.lives.Lock() // so that no reply of a call that is not applied leaves before the cut
	s.process.killed = true
	instance := s.service.Instance()
	s.socket.Cut()
	s.process.lives.Unlock()
	s.process = &mortal{tally: s.tally}
	s.service = service.New(s.process)
	s.service.Continue(instance)
}

// unique is a call that writes new keys.
type unique struct {
	kvs.Call
	keys []string
	err  error
}

func newUnique(name string, n int) *unique {
	p := &unique{Call: kvs.Call{Batch: new(kvs.Batch), Reply: new(kvs.Reply)}}
	for i := range n {
		key := fmt.Sprintf("%s.%d", name, i)
		p.keys = append(p.keys, key)
		p.Batch.Append(kvs.Put, []byte(key), []byte("value"))
	}
	return p
}

// check checks that a call that was answered was applied once, and that one of unknown
// outcome was not applied twice.
func (s *immortal) check(t *testing.T, p *unique) {
	t.Helper()
	s.tally.mu.Lock()
	defer s.tally.mu.Unlock()
	for _, key := range p.keys {
		if n := s.writes[key]; n > 1 || n == 0 && p.err == nil || p.err != nil && p.err != ErrUnknown {
			t.Errorf("%s was written %d times, the call's error is %v", key, n, p.err)
		}
	}
}

// The calls in flight when their server's process is replaced end with ErrUnknown, and no
// others do. Later calls are applied by the next process.
func TestProcessReplaced(t *testing.T) {
	enter := make(chan struct{})
	s := newImmortal(t, enter)
	options := sessionOptions(0, 3)
	retried, replies := new(again), new(atomic.Int32)
	options.Retried, options.Replaced = retried.add, func() { replies.Add(1) }
	client := dial(t, s.addr, options)
	before := newUnique("before", 2)
	client.Send(&before.Call)
	enter <- struct{}{}
	before.err = client.Wait(&before.Call)
	var pending []*unique
	for i := range 3 { // the first is being applied, the others wait behind it
		p := newUnique(fmt.Sprint("pending", i), 2)
		client.Send(&p.Call)
		pending = append(pending, p)
	}
	s.kill()
	close(enter)
	for _, p := range pending {
		if p.err = within(t, "a call in flight", func() error { return client.Wait(&p.Call) }); p.err != ErrUnknown {
			t.Errorf("a call in flight: %v, want %v", p.err, ErrUnknown)
		}
		s.check(t, p)
	}
	if n := replies.Load(); n != 0 {
		t.Errorf("the next process has replied %d times before its first call", n)
	}
	for i := range 10 {
		p := newUnique(fmt.Sprint("later", i), 2)
		client.Send(&p.Call)
		p.err = within(t, "a later call", func() error { return client.Wait(&p.Call) })
		s.check(t, p)
	}
	s.check(t, before)
	if n, calls := replies.Load(), retried.calls.Load(); n != 1 || calls != 0 {
		t.Errorf("%d first replies of the next process and %d calls sent again, want 1 and 0", n, calls)
	}
}

// Sessions of several callers go on over processes that are killed at random, and each
// operation is applied once, or its outcome is unknown and it is applied at most once.
func TestProcessesReplaced(t *testing.T) {
	const seed, sessions, callers, kills = 20261123, 4, 3, 12
	t.Logf("seed %d", seed)
	s := newImmortal(t, nil)
	var answered, unknown atomic.Int64
	var over atomic.Bool
	var group sync.WaitGroup
	calls := make([][]*unique, sessions*callers)
	for i := range sessions {
		client := dial(t, s.addr, sessionOptions(i, callers))
		for j := range callers {
			at := i*callers + j
			random := rand.New(rand.NewPCG(seed, uint64(at)))
			group.Go(func() {
				for n := 0; !over.Load(); n++ {
					p := newUnique(fmt.Sprintf("%d.%d", at, n), 1+random.IntN(4))
					client.Send(&p.Call)
					p.err = client.Wait(&p.Call)
					calls[at] = append(calls[at], p)
					switch {
					case p.err == nil:
						answered.Add(1)
					case errors.Is(p.err, ErrUnknown):
						unknown.Add(1)
					default:
						t.Errorf("caller %d: %v", at, p.err)
						return
					}
				}
			})
		}
	}
	random := rand.New(rand.NewPCG(seed, 1<<32))
	for range kills {
		due := answered.Load() + 1 + random.Int64N(300)
		poll(t, "no call is answered", func() bool { return answered.Load() >= due || t.Failed() })
		s.kill()
	}
	over.Store(true)
	within(t, "every caller", func() error { group.Wait(); return nil })
	for _, one := range calls {
		for _, p := range one {
			s.check(t, p)
		}
	}
	if n := unknown.Load(); n == 0 || n > kills*sessions*callers {
		t.Errorf("%d calls of unknown outcome in %d kills of %d callers", n, kills, sessions*callers)
	}
	t.Logf("%d calls answered, %d of unknown outcome", answered.Load(), unknown.Load())
}

// A server cannot make a client take a call for one of unknown outcome.
func TestServerDoesNotSayUnknown(t *testing.T) {
	store := service.New(engine.NewMutex())
	liar := wiretest.Start(t, func(socket net.Conn) {
		conn, err := Accept(socket, binaryOptions, store)
		if err != nil {
			return
		}
		defer conn.Close()
		for r := new(Request); err == nil; {
			if err = conn.Next(r); err == nil {
				r.Err = errors.New(ErrUnknown.Error())
				err = conn.Reply(r)
			}
		}
	})
	for _, options := range []Options{binaryOptions, sessionOptions(0, 1)} {
		options.CallTimeout = 300 * time.Millisecond
		client := dial(t, liar.Addr().String(), options)
		p := newUnique("key", 1)
		client.Send(&p.Call)
		if err := within(t, "the call", func() error { return client.Wait(&p.Call) }); err == nil || errors.Is(err, ErrUnknown) {
			t.Errorf("with -retry=%v: %v, want another error", options.Retry, err)
		}
	}
}
