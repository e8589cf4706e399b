package workload

import (
	"cmp"

	"kvlab/metrics/format"
)

// Plan is a configuration that is ready to draw from. It is immutable and safe for
// concurrent use: all workers of a node share one.
type Plan struct {
	config       Config
	mix          mix
	distribution distribution
	table        table
	keys         affine
	sequential   bool
}

// New returns the plan of a configuration. Its error names the first wrong flag and its
// right form. New ignores flags that the distribution does not use.
func New(c Config) (*Plan, error) {
	m, err := newMix(c)
	l, unknown := c.law()
	if err := cmp.Or(err, format.Want(c.Records >= 1 && c.Records <= MaxRecords, "-records", c.Records, "1 to %d", uint64(MaxRecords)), unknown); err != nil {
		return nil, err
	}
	d, err := l.new(c)
	if err != nil {
		return nil, err
	}
	return &Plan{c, m, d, newTable(d), newKeys(c, l.newestFirst), l.sequential}, nil
}

// Sequential reports whether each worker visits the records in order. Otherwise
// operations are drawn independently.
func (p *Plan) Sequential() bool { return p.sequential }

// Share returns the share of operations of kind k, 0 to 1.
func (p *Plan) Share(k Kind) float64 {
	switch k {
	case Read:
		return p.mix.reads
	case p.mix.write:
		return 1 - p.mix.reads
	}
	return 0
}

// Mass returns the probability that an operation is on the record with a popularity
// rank, by the closed form of its distribution. It returns 0 for a rank without a
// record. For a sequential plan it is the share in the long run.
func (p *Plan) Mass(rank uint64) float64 {
	if rank >= p.config.Records {
		return 0
	}
	return p.distribution.mass(rank, rank+1)
}

// Key returns the id of the record with a popularity rank, which is below
// Config.Records. It is a bijection.
func (p *Plan) Key(rank uint64) uint64 { return p.keys.at(rank) }
