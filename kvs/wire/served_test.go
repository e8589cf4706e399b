package wire

import (
	"testing"
	"time"

	"kvlab/kvs"
	"kvlab/kvs/engine"
)

// slow is an engine that takes its time.
type slow struct {
	kvs.Engine
	takes time.Duration
}

func (s slow) Apply(ops []kvs.Op, reply *kvs.Reply) {
	time.Sleep(s.takes)
	s.Engine.Apply(ops, reply)
}

// A reply says how long the server took for it, no longer than the client
// waited; those of gob do not.
func TestReplyTellsServerTime(t *testing.T) {
	const takes = 5 * time.Millisecond
	for _, test := range []struct {
		options Options
		tells   bool
	}{{binaryOptions, true}, {gobOptions, false}} {
		s := startServer(t, test.options, slow{engine.NewMutex(), takes})
		client := s.dial(t, test.options)
		var batch kvs.Batch
		var reply kvs.Reply
		batch.Get([]byte("key"))
		call := kvs.Call{Batch: &batch, Reply: &reply}
		for range 3 {
			sent := time.Now()
			client.Send(&call)
			if err := client.Wait(&call); err != nil {
				t.Fatal(err)
			}
			whole, served := time.Since(sent), reply.Served
			if test.tells && (served < takes || served > whole+tookUnit) || !test.tells && served != 0 {
				t.Errorf("-codec %s: the server says %v of an engine that takes %v in a call of %v", test.options.Codec, served, takes, whole)
			}
		}
	}
}
