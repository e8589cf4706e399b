package workload

// Plan is a configuration made ready to draw from. It never changes and is safe
// for concurrent use: all workers of a node share one.
type Plan struct {
	config Config
	mix    mix
	law    distribution
	table  table
	keys   affine
}

// New returns the plan of a configuration, or the error of Config.Validate.
func New(c Config) (*Plan, error) {
	if err := c.Validate(); err != nil {
		return nil, err
	}
	l := newLaw(c)
	return &Plan{config: c, mix: newMix(c), law: l, table: newTable(l), keys: newKeys(c)}, nil
}

// Share returns the share of operations that are of kind k, 0 to 1.
func (p *Plan) Share(k Kind) float64 { return p.mix.share(k) }

// Mass returns the probability that an operation goes to the record of a
// popularity rank, by the closed form of its distribution; 0 for a rank that no
// record has. For sequential it is the share in the long run.
func (p *Plan) Mass(rank uint64) float64 {
	if rank >= p.config.Records {
		return 0
	}
	return p.law.mass(rank, rank+1)
}

// Key returns the id of the record with a popularity rank, which must be below
// Config.Records. It is a bijection.
func (p *Plan) Key(rank uint64) uint64 { return p.keys.at(rank) }
