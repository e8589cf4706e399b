package loadgen

import (
	"fmt"

	"kvlab/kvs"
	"kvlab/kvs/engine"
	"kvlab/kvs/route"
	"kvlab/kvs/service"
	"kvlab/kvs/value"
	"kvlab/workload"
)

// Frames are the mean frames of a configuration's calls in the binary codec.
type Frames struct {
	Request float64 // bytes of a batch, its header included
	Reply   float64 // bytes of the reply to it, likewise
	Ops     float64 // operations in it
}

// sampled is how many operations SampleFrames draws at least.
const sampled = 1 << 16

// SampleFrames makes the first calls of c's first worker, has a store that holds
// every record answer them, and measures what would travel.
func SampleFrames(c Config) (Frames, error) {
	if err := c.Validate(); err != nil {
		return Frames{}, err
	}
	plan, err := workload.New(c.Workload)
	if err != nil {
		return Frames{}, err
	}
	router, err := newRouter(c, plan)
	if err != nil {
		return Frames{}, err
	}
	s := &sampler{
		config:  c,
		source:  plan.Source(c.Index, 0),
		router:  router,
		keys:    newKeys(c.KeyPrefix),
		session: service.New(engine.NewMutex()).Open(c.Node),
		batches: make([]kvs.Batch, c.Servers()),
	}
	s.session.Coalesce = c.Coalesce
	var sum Frames
	calls := 0.0
	for sum.Ops < sampled {
		s.draw()
		if _, err := s.call(&s.load); err != nil {
			return Frames{}, err
		}
		for i := range s.batches {
			reply, err := s.call(&s.batches[i])
			if err != nil {
				return Frames{}, err
			}
			sum.Request += float64(len(s.batches[i].Frame()))
			sum.Reply += float64(reply)
		}
		sum.Ops += float64(c.Batch * c.Servers())
		calls += float64(c.Servers())
	}
	return Frames{sum.Request / calls, sum.Reply / calls, sum.Ops / calls}, nil
}

// sampler makes calls without a worker's checks and clocks.
type sampler struct {
	config  Config
	source  *workload.Source
	router  route.Router
	keys    keys
	session *service.Conn
	batches []kvs.Batch // to each server
	load    kvs.Batch   // stores every key of theirs
}

// draw fills a round's batches, and stores what they will ask for.
func (s *sampler) draw() {
	s.load.Reset()
	for i := range s.batches {
		s.batches[i].Reset()
	}
	var op [1]workload.Op
	for range s.config.Batch * s.config.Servers() {
		s.source.Fill(op[:])
		key, hash := s.keys.key(op[0].Key)
		v := s.load.Reserve(kvs.Put, key, s.config.ValueSize)
		value.Put(v, hash, value.NewWriter(s.config.Index, 0))
		batch, kind := &s.batches[s.router.Server(key, hash)], kindOf(op[0].Kind)
		if kind.Writes() {
			batch.Append(kind, key, v)
		} else {
			batch.Get(key)
		}
	}
}

// call returns the size of the reply to a batch.
func (s *sampler) call(batch *kvs.Batch) (int, error) {
	var reply kvs.Reply
	defer reply.Free()
	if err := s.session.BatchPutGet(batch, &reply); err != nil {
		return 0, fmt.Errorf("sample the frames of %d operations: %w", batch.Len(), err)
	}
	return len(reply.Frame()), nil
}
