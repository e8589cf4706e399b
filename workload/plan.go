package workload

import (
	"cmp"
	"math"
	"sync"

	"kvlab/internal/cli"
)

// Plan is a configuration that is ready to draw from. It is immutable and safe for
// concurrent use: all workers of a node share one.
type Plan struct {
	config       Config
	mix          mix
	law          law
	distribution distribution
	table        table
	keys         affine // from the ranks of loaded records to their ids
	drawn        affine // from a rank to the key that a digest folds: keys, or the rank itself if the id is found later
	moving       moving
	follows      bool // the records that were inserted last are the popular ones
	hashing      hashing
	ranking      func() *ranking // of hashed records
	replay       *replay         // nil without a trace, which has no law
}

// New returns the plan of a configuration. Its error names the first wrong flag and its
// right form. New ignores flags that the distribution does not use.
func New(c Config) (*Plan, error) {
	if r, err := newReplay(c); r != nil || err != nil {
		c.Ops = r.ends()
		return &Plan{config: c, mix: mix{shares: r.shares()}, replay: r}, err
	}
	m, err := newMix(c)
	_, l, unknown := c.law()
	if err := cmp.Or(err, cli.Want(c.Records >= 1 && c.Records <= MaxRecords, "-records", c.Records, "1 to %d", uint64(MaxRecords)), unknown); err != nil {
		return nil, err
	}
	d, err := l.new(c)
	if err != nil {
		return nil, err
	}
	moves, err := newMoving(c, l, len(d.cuts())-1)
	if err != nil {
		return nil, err
	}
	p := &Plan{config: c, mix: m, law: l, distribution: d, table: newTable(d), keys: newKeys(c, l.newestFirst), moving: moves}
	p.drawn, p.follows = p.keys, l.newestFirst && m.shares[Insert] > 0
	if p.follows || l.hashed {
		p.drawn = newAffine(1<<62, 1, 0)
	}
	if l.hashed {
		p.hashing = newHashing(c.Records)
		p.ranking = sync.OnceValue(p.rank)
	}
	return p, nil
}

// Fixed reports whether operations on records are drawn independently, each record with
// its Mass. They are not if workers visit the records in order, or if inserted records
// become the most popular ones, or if the hot set moves, or if a trace is replayed.
func (p *Plan) Fixed() bool {
	return !p.law.sequential && !p.follows && !p.Moves() && p.replay == nil
}

// Ops returns how many operations the worker at a place has; math.MaxUint64 if they do not end.
func (p *Plan) Ops(place Place) uint64 {
	switch {
	case p.config.Ops == 0:
		return math.MaxUint64
	case p.replay != nil:
		return uint64(len(p.replay.of(place)[place.Worker].steps))
	}
	from, to := place.Part(p.config.Ops)
	return to - from
}

// Share returns the share of operations of kind k, 0 to 1.
func (p *Plan) Share(k Kind) float64 { return p.mix.shares[k] }

// Mass returns the probability that an operation is on the loaded record with a popularity
// rank, by the closed form of its distribution. It returns 0 for a rank without a
// record. For a sequential plan it is the share in the long run, and for Latest with inserts
// the share of the rank. Ranks are those before the first move of a hot set.
func (p *Plan) Mass(rank uint64) float64 {
	switch {
	case rank >= p.config.Records || p.replay != nil:
		return 0
	case p.law.hashed:
		return p.drawing() * p.ranking().mass(rank)
	}
	return p.drawing() * p.distribution.mass(rank, rank+1)
}

// drawing returns the share of operations that draw a record. An insert makes a new one.
func (p *Plan) drawing() float64 { return 1 - p.mix.shares[Insert] }

// Key returns the id of the loaded record with a popularity rank, which is below
// Config.Records. It is a bijection.
func (p *Plan) Key(rank uint64) uint64 {
	if p.law.hashed {
		return p.ranking().id(rank)
	}
	return p.keys.at(rank)
}

// Inserted returns the id of a worker's insert number k, from 0. The workers of a run take
// the ids from Config.Records on in turn.
func (p *Plan) Inserted(place Place, k uint64) uint64 {
	workers := uint64(place.Nodes) * uint64(place.Workers)
	return p.config.Records + uint64(place.Node)*uint64(place.Workers) + uint64(place.Worker) + k*workers
}
