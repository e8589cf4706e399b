package workload

// flat gives each of n ranks the same mass.
type flat struct{ n uint64 }

func newFlat(c Config) (distribution, error) { return flat{c.Records}, nil }

func (f flat) mass(from, to uint64) float64 { return float64(to-from) / float64(f.n) }

func (f flat) cuts() []uint64 { return []uint64{0, f.n} }
