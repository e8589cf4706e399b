package wire

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"kvlab/internal/faultproxy"
	"kvlab/kvs"
	"kvlab/kvs/engine"
)

// Behind a wire that swallows everything, one way or the other, from some byte
// on, every call in flight fails in its time, whether it waits for a reply, is
// stuck in a write or waits for another's; its goroutines are gone, and the
// connection is closed. On a busy machine calls are late before that byte: then others
// have more time.
func TestCallsTimeOutInABlackHole(t *testing.T) {
	const callers = 8
	sharedAndEncrypted := encryptedOptions(t)
	sharedAndEncrypted.Shared = true
	for _, way := range []faultproxy.Way{faultproxy.ToServer, faultproxy.ToClient} {
		for _, options := range []Options{binaryOptions, {Hello: Hello{Node: "node0", Codec: "gob"}, Token: "secret"}, {Hello: Hello{Node: "node0", Codec: "binary"}, Token: "secret", Shared: true}, sharedAndEncrypted} {
			t.Run(fmt.Sprintf("%v %s shared %t TLS %t", way, options.Codec, options.Shared, options.TLS != nil), func(t *testing.T) {
				t.Parallel() // it mostly waits
				s := startServer(t, options, engine.NewMutex())
				hole := faultproxy.Fault{Kind: faultproxy.BlackHole, Way: way, At: 100_000}
				errs := make([]error, callers)
				timeout := untilStruck(t, s, options, hole, func(client *Client) {
					var calling sync.WaitGroup
					for i := range callers {
						calling.Go(func() { errs[i] = callUntilError(client) })
					}
					within(t, "every call", func() error { calling.Wait(); return nil })
				})
				timedOut := 0
				for _, err := range errs {
					if errors.Is(err, ErrTimeout) && strings.Contains(err.Error(), fmt.Sprint("no reply within ", timeout)) {
						timedOut++
					}
				}
				if timedOut == 0 {
					t.Errorf("errors %v, want one that wraps ErrTimeout and says the time", errs)
				}
				poll(t, "the client's goroutines are left", func() bool {
					return !runs("wire.Watch", "rpc.(*Client).input", "wire.(*groupWriter).run")
				})
			})
		}
	}
}

// A call of which half a reply has come is late like any other, which who called
// can tell.
func TestHalfAReplyTimesOut(t *testing.T) {
	t.Parallel()
	for _, codec := range Codecs {
		options := Options{Hello: Hello{Node: "node0", Codec: codec}, Token: "secret"}
		s := startServer(t, options, engine.NewMutex())
		// Replies are of 4 KiB each: this is in the middle of one.
		var err error
		untilStruck(t, s, options, faultproxy.Fault{Kind: faultproxy.BlackHole, Way: faultproxy.ToClient, At: 42_000}, func(client *Client) {
			err = callUntilError(client)
		})
		if !errors.Is(err, ErrTimeout) || !strings.Contains(err.Error(), "read the reply") {
			t.Errorf("%s: error %v, want one of half a reply that wraps ErrTimeout", codec, err)
		}
	}
}

// untilStruck makes calls through a proxy whose fault ends them. It gives them more and more
// time, each on a new connection, until the fault has struck, and returns that time.
func untilStruck(t *testing.T, s *server, options Options, fault faultproxy.Fault, calls func(*Client)) time.Duration {
	t.Helper()
	for options.CallTimeout = 300 * time.Millisecond; options.CallTimeout < patience; options.CallTimeout *= 4 {
		proxy := faultproxy.Start(t, s.addr, func(int) []faultproxy.Fault { return []faultproxy.Fault{fault} })
		client, _, err := Dial(context.Background(), proxy.Addr(), options)
		if err != nil {
			t.Fatal(err)
		}
		if calls(client); len(proxy.Struck()) > 0 {
			return options.CallTimeout
		}
	}
	t.Fatal("the fault did not strike")
	return 0
}

// callUntilError stores 4 KiB and reads them back again and again.
func callUntilError(client *Client) error {
	var batch kvs.Batch
	var reply kvs.Reply
	for {
		batch.Reset()
		batch.Append(kvs.Put, []byte("key"), make([]byte, 4096))
		batch.Get([]byte("key"))
		call := kvs.Call{Batch: &batch, Reply: &reply}
		client.Send(&call)
		if err := client.Wait(&call); err != nil {
			return err
		}
		reply.Free()
	}
}

// poll waits for a condition.
func poll(t *testing.T, otherwise string, holds func() bool) {
	t.Helper()
	for deadline := time.Now().Add(patience); !holds(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal(otherwise)
		}
	}
}

// Calls that are answered in their time go on for ever, busy or idle, and the
// connection with them.
func TestCallsInTimeGoOn(t *testing.T) {
	t.Parallel()
	const timeout = 2 * time.Second
	options := binaryOptions
	options.CallTimeout = timeout
	s := startServer(t, options, slow{engine.NewMutex(), timeout / 4})
	client := s.dial(t, options)
	var batch kvs.Batch
	batch.Get([]byte("key"))
	for begun := time.Now(); time.Since(begun) < timeout+timeout/2; {
		if _, err := call(client, &batch); err != nil {
			t.Fatal(err)
		}
	}
}
