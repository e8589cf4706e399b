package workload

import (
	"fmt"
	"math"
	"math/bits"
	"slices"
	"sync"
	"time"

	"kvlab/workload/trace"
)

// replay is the plan of a trace. A key belongs to one worker of all clients, by a hash of its id,
// so its operations keep the trace's order, and the worker knows what each read must find. The
// keys that are loaded are the records, with their ids in the trace; the others are inserted.
type replay struct {
	*trace.Trace
	ops  uint64 // how many of its first operations
	loop bool

	mu     sync.Mutex
	length float64            // of a pass, in mean gaps
	parts  map[[3]int][]score // of the workers of a client, by its number and those of clients and workers
}

// score is what one worker replays: its part of the trace.
type score struct {
	steps []step
	keys  []keyState // as they are at the beginning
}

// step is an operation of a part.
type step struct {
	key  uint32  // its number among the part's keys
	word uint32  // 256 times the bytes of the value that it writes, and its kind
	due  float64 // in mean gaps between two operations of the replay
}

// keyState is what a worker knows of one of its keys.
type keyState struct {
	id     uint32
	loaded uint32
	Found
}

// Found is what a worker's replay finds under a key: a value of so many bytes, 0 for none, that
// the worker's write of a number, from 1, has left there; of write 0 that the load has.
type Found struct{ Size, Write uint32 }

// newReplay opens the trace of a configuration; nil without one.
func newReplay(c Config) (*replay, error) {
	if c.Replay == "" {
		return nil, nil
	}
	t, err := trace.Open(c.Replay)
	if err != nil {
		return nil, fmt.Errorf("-replay: %w", err)
	}
	switch {
	case c.TraceKeys != "" && c.TraceKeys != OwnKeys && c.TraceKeys != OriginalKeys:
		return nil, fmt.Errorf("-trace-keys %q: want %s or %s", c.TraceKeys, OwnKeys, OriginalKeys)
	case c.TraceKeys == OriginalKeys && t.Texts == 0:
		return nil, fmt.Errorf("-trace-keys %s: %s does not have its keys: import it again, with -keys", OriginalKeys, t.Path)
	case c.TraceKeys == OriginalKeys && c.ReplayLoop:
		return nil, fmt.Errorf("-trace-keys %s does not go with -replay-loop, which makes new keys", OriginalKeys)
	}
	r := &replay{Trace: t, ops: t.Ops, loop: c.ReplayLoop, parts: make(map[[3]int][]score)}
	switch {
	case c.Ops > 0 && c.ReplayLoop:
		return nil, fmt.Errorf("-replay-loop: it begins the trace again until -secs are over, and -ops %d ends the run: want one of them", c.Ops)
	case c.Ops > 0:
		r.ops = min(r.ops, c.Ops)
	}
	return r, nil
}

// ends returns how many operations end the replay; 0 if it begins again.
func (r *replay) ends() uint64 {
	if r == nil || r.loop {
		return 0
	}
	return r.ops
}

// Resolve sets what follows from a trace: the records are the keys that it loads, and its
// operations end the run. It does nothing without one. The size is the mean of the values of the trace, in bytes.
func (c *Config) Resolve() (size int, err error) {
	r, err := newReplay(*c)
	if r == nil {
		return 0, err
	}
	c.Records, c.Ops = r.Loaded, r.ends()
	writes := r.Loaded + r.Kinds["insert"] + r.Kinds["update"] + r.Kinds["read-modify-write"]
	return int(math.Ceil(float64(r.LoadedBytes+r.ValueBytes) / float64(max(1, writes)))), nil
}

// RateOf returns the rate that is a number of times the trace's own, in operations per second; 0
// if the trace has no times.
func (c Config) RateOf(speed float64) float64 {
	if r, err := newReplay(c); err == nil && r != nil && r.SpanNs() > 0 {
		return speed * float64(r.Ops) / float64(r.SpanNs()) * 1e9
	}
	return 0
}

// base returns the id in the trace of a record, which may be one of a later pass.
func (r *replay) base(id uint64) uint64 {
	if id < r.Keys || r.Keys == r.Loaded {
		return min(id, r.Keys-1)
	}
	return r.Loaded + (id-r.Loaded)%(r.Keys-r.Loaded)
}

// shares returns the kinds' shares of the operations.
func (r *replay) shares() (s shares) {
	if r == nil {
		return s
	}
	for kind, name := range trace.KindNames() {
		s[kind] = float64(r.Kinds[name]) / float64(r.Ops)
	}
	return s
}

// Replays reports whether the plan is a trace's.
func (p *Plan) Replays() bool { return p.replay != nil }

// Loaded returns what is found under a record's key after the load.
func (p *Plan) Loaded(id uint64) Found {
	if p.replay == nil {
		return Found{}
	}
	_, _, size := p.replay.Key(id)
	return Found{Size: uint32(size)}
}

// owner returns the number of the worker of all clients to which a key belongs.
func owner(id uint32, workers int) int {
	n, _ := bits.Mul64(mix64(uint64(id)), uint64(workers))
	return int(n)
}

// of returns the parts of the workers of a place's node.
func (r *replay) of(place Place) []score {
	r.mu.Lock()
	defer r.mu.Unlock()
	name := [3]int{place.Node, place.Nodes, place.Workers}
	if r.parts[name] == nil {
		r.parts[name] = r.divide(place)
	}
	return r.parts[name]
}

// divide makes the parts of the workers of a place's node, in two passes over the trace.
func (r *replay) divide(place Place) []score {
	parts, first := make([]score, place.Workers), place.Node*place.Workers
	numbers := make([]uint32, r.Keys) // of the node's keys, in their parts
	steps := make([]int, place.Workers)
	for id := range uint32(r.Keys) {
		ops, _, loaded := r.Key(uint64(id))
		if w := owner(id, place.Nodes*place.Workers) - first; w >= 0 && w < place.Workers {
			numbers[id] = uint32(len(parts[w].keys))
			parts[w].keys = append(parts[w].keys, keyState{id: id, loaded: uint32(loaded), Found: Found{Size: uint32(loaded)}})
			steps[w] += int(ops)
		}
	}
	for w := range parts {
		parts[w].steps = make([]step, 0, steps[w])
	}
	r.times(func(op trace.Op, due float64) {
		r.length = due + 1
		if w := owner(op.ID, place.Nodes*place.Workers) - first; w >= 0 && w < place.Workers {
			parts[w].steps = append(parts[w].steps, step{numbers[op.ID], op.Size<<8 | uint32(op.Kind), due})
		}
	})
	return parts
}

// times visits the operations with the times at which they are due, in mean gaps from the
// beginning. The operations of one tick are spread evenly over it.
func (r *replay) times(visit func(trace.Op, float64)) {
	gapsPerTick := float64(r.Ops) / float64(r.Ticks+1) // of the whole trace, so that -ops changes no time
	for i := uint64(0); i < r.ops; {
		tick, last := r.Op(i).Tick, i+1
		for last < r.Ops && r.Op(last).Tick == tick {
			last++
		}
		for k := i; k < min(last, r.ops); k++ {
			due := float64(k)
			if r.TickNs > 0 {
				due = (float64(tick) + float64(k-i)/float64(last-i)) * gapsPerTick
			}
			visit(r.Op(k), due)
		}
		i = last
	}
}

// player is a worker's position in its part.
type player struct {
	*replay
	score
	at     int
	pass   uint64
	writes uint32
	found  []Found // of the operations that Fill drew last
}

func newPlayer(r *replay, place Place) *player {
	p := &player{replay: r, score: r.of(place)[place.Worker]}
	p.keys = slices.Clone(p.keys)
	return p
}

// id returns the id of a key in the present pass: a key that is not loaded has another one in
// each.
func (p *player) id(k *keyState) uint64 {
	if k.loaded > 0 {
		return uint64(k.id)
	}
	return uint64(k.id) + p.pass*(p.Keys-p.Loaded)
}

// next returns the next operation, and what a read of its key finds.
func (p *player) next() (op Op, found Found) {
	if p.at == len(p.steps) {
		p.again()
	}
	s := &p.steps[p.at]
	p.at++
	k := &p.keys[s.key]
	op, found = Op{Kind: Kind(s.word & 0xff), Limit: s.word >> 8, Key: p.id(k)}, k.Found
	switch {
	case op.Kind == Delete:
		k.Found = Found{}
	case op.Limit > 0:
		p.writes++
		k.Found = Found{op.Limit, p.writes}
	}
	return op, found
}

// again begins the next pass.
func (p *player) again() {
	p.at = 0
	p.pass++
	for i := range p.keys {
		if p.keys[i].loaded == 0 {
			p.keys[i].Found = Found{}
		}
	}
}

// due returns when the next operation is due at mean gaps of some nanoseconds, and steps over
// it.
func (p *player) due(gap float64) time.Duration {
	if p.at == len(p.steps) {
		p.at = 0
		p.pass++
	}
	p.at++
	return time.Duration((p.steps[p.at-1].due + float64(p.pass)*p.length) * gap)
}

// fillReplay sets ops as fill does.
func (s *Source) fillReplay(ops []Op) {
	for i := range ops {
		op, found := s.player.next()
		ops[i] = op
		s.player.found = append(s.player.found, found)
		s.digest = fold(s.digest, op.word())
	}
}

// Found returns what reads of the keys of the operations that Fill drew last find. It is valid
// until the next Fill. A replay alone has it.
func (s *Source) Found() []Found { return s.player.found }

// Rest yields reads of the keys of a worker's part, and what they find after its last
// operation, in the order of their ids, at most the first of them.
func (s *Source) Rest(most int) (ops []Op, found []Found) {
	if s.player == nil {
		return nil, nil
	}
	for i := range s.player.keys[:min(most, len(s.player.keys))] {
		k := &s.player.keys[i]
		ops, found = append(ops, Op{Kind: Read, Key: s.player.id(k)}), append(found, k.Found)
	}
	return ops, found
}

// Kinds returns how many of a worker's first operations are of each kind, by the trace.
func (p *Plan) Kinds(place Place, drawn uint64) (kinds [Kinds]uint64) {
	steps := p.replay.of(place)[place.Worker].steps
	if len(steps) == 0 {
		return kinds
	}
	passes, rest := drawn/uint64(len(steps)), drawn%uint64(len(steps))
	for i, s := range steps {
		kinds[s.word&0xff] += passes
		if uint64(i) < rest {
			kinds[s.word&0xff]++
		}
	}
	return kinds
}

// Passes returns how often a worker has replayed its part after a number of operations.
func (p *Plan) Passes(place Place, drawn uint64) float64 {
	return float64(drawn) / float64(len(p.replay.of(place)[place.Worker].steps))
}

// CheckWorkers returns an error that names the flag if some worker of all clients has no
// operation, or no key of the trace.
func (p *Plan) CheckWorkers(clients, workers int) error {
	if all := uint64(clients) * uint64(workers); p.config.Ops > 0 && p.config.Ops < all {
		return fmt.Errorf("-ops %d: fewer than the %d workers of all clients, of which each sends one at least: want more, or fewer -workers", p.config.Ops, all)
	}
	if p.replay == nil {
		return nil
	}
	has, idle := make([]bool, clients*workers), clients*workers
	for i := uint64(0); i < p.replay.ops && idle > 0; i++ {
		if w := owner(p.replay.Op(i).ID, len(has)); !has[w] {
			has[w] = true
			idle--
		}
	}
	if idle > 0 {
		return fmt.Errorf("-workers %d: %d of the %d workers of all clients have no key of the trace: want fewer", workers, idle, len(has))
	}
	return nil
}

// Trace describes the trace of the plan; nil without one.
func (p *Plan) Trace() *trace.Header {
	if p.replay == nil {
		return nil
	}
	return &p.replay.Header
}

// PeakBytes returns the most bytes of keys and values that are there at once in a replay, of
// which none expires; 0 without a trace.
func (c Config) PeakBytes() (peak uint64) {
	r, err := newReplay(c)
	if r == nil || err != nil {
		return 0
	}
	sizes, live := make([]uint64, r.Keys), uint64(0)
	set := func(id uint32, size uint64) {
		if _, length, _ := r.Key(uint64(id)); size > 0 {
			size += uint64(length)
		}
		live, sizes[id] = live+size-sizes[id], size
		peak = max(peak, live)
	}
	for id := range r.Loaded {
		_, _, size := r.Key(id)
		set(uint32(id), uint64(size))
	}
	for i := range r.ops {
		if op := r.Op(i); op.Kind != trace.Read {
			set(op.ID, uint64(op.Size))
		}
	}
	return peak
}
