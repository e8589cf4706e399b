package service_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"kvlab/kvs"
	"kvlab/kvs/engine"
	"kvlab/kvs/service"
)

// aSession returns connection n of a session with two calls in flight.
func aSession(n uint64) service.Session {
	return service.Session{Client: "0123456789abcdef", Connection: n, Window: 2, Keep: time.Minute}
}

func resume(t *testing.T, s *service.Service, lane service.Session) *service.Conn {
	t.Helper()
	session, err := s.Attach("client", lane, func() {})
	if err != nil {
		t.Fatal(err)
	}
	return session
}

// swap replaces the value of "key" and answers the one before, as version says.
func swap(version int) *kvs.Batch {
	var b kvs.Batch
	b.Append(kvs.ReadModifyWrite, []byte("key"), fmt.Append(nil, version))
	return &b
}

// before returns the value that a swap's reply holds; "none" for a missing key.
func before(t *testing.T, reply *kvs.Reply) string {
	t.Helper()
	results := reply.Results()
	r, err := results.Next()
	if err != nil {
		t.Fatal(err)
	}
	if !r.Found {
		return "none"
	}
	return string(r.Value)
}

// A call that failed gets the same error again.
func TestErrorsAreRemembered(t *testing.T) {
	service := service.New(engine.NewMutex())
	session := resume(t, service, aSession(1))
	defer session.Close()
	var half kvs.Batch
	copy(half.Body(2, 1), []byte{byte(kvs.Get), 9}) // its key is missing
	var reply kvs.Reply
	first := session.Answer(0, &half, &reply)
	if again := session.Answer(0, swap(1), &reply); !errors.Is(first, kvs.ErrMalformed) || again != first {
		t.Errorf("%v, and then %v", first, again)
	}
	if err := session.Answer(1, swap(1), &reply); err != nil || before(t, &reply) != "none" {
		t.Errorf("the call after it: %v, %q", err, before(t, &reply))
	}
}

// What is beyond the memory is refused and changes nothing: an answer that has
// been forgotten, a call before the session's first, and one with others missing
// before it.
func TestBeyondTheMemory(t *testing.T) {
	service := service.New(engine.NewMutex())
	lane := aSession(1)
	lane.Next = 100
	session := resume(t, service, lane)
	defer session.Close()
	var reply kvs.Reply
	for n := range uint64(3) {
		if err := session.Answer(100+n, swap(int(n)), &reply); err != nil {
			t.Fatal(err)
		}
	}
	for _, number := range []uint64{100, 99, 0, 104, 1 << 47} {
		if err := session.Answer(number, swap(9), &reply); err == nil {
			t.Errorf("call %d is taken after call 102 of a window of 2", number)
		}
	}
	if err := session.Answer(103, swap(9), &reply); err != nil || before(t, &reply) != "2" {
		t.Errorf("call 103: %v, %q", err, before(t, &reply))
	}
}

// A later connection ends the one before and waits for it; an earlier one that
// comes late is refused, and so is one whose calls are not remembered.
func TestConnectionsOfASession(t *testing.T) {
	svc := service.New(engine.NewMutex())
	told := make(chan struct{})
	first, err := svc.Attach("client", aSession(2), func() { close(told) })
	if err != nil {
		t.Fatal(err)
	}
	taken := make(chan *service.Conn)
	go func() {
		session, err := svc.Attach("client", aSession(3), func() {})
		if err != nil {
			t.Error(err)
		}
		taken <- session
	}()
	<-told
	if !first.Superseded() {
		t.Error("a session that is told to end does not know why")
	}
	if _, err := svc.Attach("client", aSession(2), func() {}); !errors.Is(err, service.ErrSuperseded) {
		t.Errorf("an earlier connection: %v", err)
	}
	select {
	case <-taken:
		t.Fatal("the session has two sessions")
	default:
	}
	var reply kvs.Reply
	if err := first.Answer(0, swap(1), &reply); err != service.ErrSuperseded { // it lay in a buffer
		t.Errorf("a call of the session that is told to end: %v", err)
	}
	first.Close()
	second := <-taken
	if err := second.Answer(0, swap(1), &reply); err != nil || before(t, &reply) != "none" {
		t.Errorf("the call again: %v, %q", err, before(t, &reply))
	}
	second.Close()

	ahead, narrow, stranger := aSession(4), aSession(5), aSession(6)
	ahead.Next, narrow.Window = 7, 1
	stranger.Number, stranger.Unanswered = 1, 1
	for _, lane := range []service.Session{ahead, narrow, stranger} {
		if _, err := svc.Attach("client", lane, func() {}); err == nil || errors.Is(err, service.ErrSuperseded) {
			t.Errorf("%+v: %v", lane, err)
		}
	}
	resume(t, svc, aSession(7)).Close()
}

// A session without a connection is forgotten when its time is over, and a call of
// it that comes again then is refused.
func TestSessionsAreDropped(t *testing.T) {
	service := service.New(engine.NewMutex())
	lane := aSession(1)
	lane.Keep = time.Millisecond
	session := resume(t, service, lane)
	var reply kvs.Reply
	if err := session.Answer(0, swap(1), &reply); err != nil {
		t.Fatal(err)
	}
	session.Close()
	lane.Unanswered = 1
	// Each connection renews the time that the session is kept, so the waits grow.
	for wait := 2 * lane.Keep; ; wait *= 2 {
		time.Sleep(wait)
		lane.Connection++
		session, err := service.Attach("client", lane, func() {})
		if err != nil {
			if !strings.Contains(err.Error(), "is not among the") {
				t.Error(err)
			}
			return
		}
		session.Close()
		if wait > 20*time.Second {
			t.Fatal("a session is remembered for ever")
		}
	}
}

// A session in which any call comes again at any time, on the same connection or on
// a new one, gives every answer that one without does, and once.
func TestSessionAgainstOneThatNeverBreaks(t *testing.T) {
	const seed, calls, window = 20261121, 500, 4
	t.Logf("seed %d", seed)
	rng := rand.New(rand.NewPCG(seed, 1))
	service, oracle := service.New(engine.NewMutex()), service.New(engine.NewMutex()).Open("oracle")
	lane := aSession(1)
	lane.Window = window
	session := resume(t, service, lane)
	var reply, want kvs.Reply
	bodies := make(map[uint64]string)
	connections, again := uint64(0), uint64(0)
	for next := uint64(0); next < calls; {
		number := next - min(next, rng.Uint64N(window+1))
		if rng.IntN(10) == 0 {
			session.Close()
			lane.Connection++
			lane.Next, lane.Unanswered = number, int(next-number)
			session = resume(t, service, lane)
			connections++
		}
		batch := swap(int(number))
		for i := range number % 20 {
			batch.Get(fmt.Append(nil, "other", i))
			batch.Append(kvs.Put, fmt.Append(nil, "other", i), make([]byte, number%100))
		}
		if number == next {
			if err := oracle.BatchPutGet(batch, &want); err != nil {
				t.Fatal(err)
			}
			bodies[number] = string(want.Frame()[kvs.Headroom:])
			next++
		} else {
			again++
		}
		if err := session.Answer(number, batch, &reply); err != nil {
			t.Fatal(err)
		}
		if got := string(reply.Frame()[kvs.Headroom:]); got != bodies[number] {
			t.Fatalf("call %d: a reply of %d bytes, want another of %d", number, len(got), len(bodies[number]))
		}
		reply.Free()
	}
	session.Close()
	if c := service.Counts()["client"]; c.Calls != calls || c.ReadModifyWrites != calls {
		t.Errorf("counts %+v, want %d calls", c, calls)
	}
	if c, n := service.Retries(); c != connections || n != again {
		t.Errorf("%d connections and %d calls came again, want %d and %d", c, n, connections, again)
	}
}
