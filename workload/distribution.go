package workload

// The distributions of operations over records.
const (
	Zipfian    = "zipfian"    // rank k is drawn about as often as (k+1)^-theta; ranks are record ids
	Uniform    = "uniform"    // all records alike
	Sequential = "sequential" // each worker visits all records in order, again and again
	Latest     = "latest"     // as Zipfian, but rank 0 is the newest record, which has the highest id
	Hotspot    = "hotspot"    // Config.HotOps of the operations on the first Config.HotKeys of the records
	Scrambled  = "scrambled"  // as YCSB's core workloads draw: as Zipfian over 10^10 items, each hashed to a record
)

// distribution is a probability distribution over popularity ranks.
type distribution interface {
	// mass returns the probability of the ranks from, from+1, ..., to-1.
	mass(from, to uint64) float64
	// cuts splits all ranks into segments: segment i is cuts[i], ..., cuts[i+1]-1.
	// Inside a segment the mass of a rank is constant or falls almost linearly.
	cuts() []uint64
}

// law is how operations are distributed over records. A new law is a file and a row of
// distributions.
type law struct {
	new   func(Config) (distribution, error) // the error names a flag that only this law uses
	flags func(Config) string                // these flags, as they are typed

	newestFirst bool   // rank 0 is the record with the highest id, not id 0
	sequential  bool   // each worker visits the records in order and draws none
	hashed      bool   // ranks count items, and a hash maps each item to a record
	still       string // why it has no hot set that moves; "" if it has
}

// distributions are all values of Config.Distribution, the default first. Ranks count
// records from the most popular, rank 0.
var distributions = []choice[law]{
	{Zipfian, "record k is drawn about as often as (k+1)^-theta", law{new: newZipfian, flags: zipfianFlags}},
	{Uniform, "all records alike", law{new: newFlat, flags: noFlags, still: "all records are alike"}},
	{Sequential, "each worker visits all records in order, again and again", law{new: newSequential, flags: noFlags, sequential: true, still: "no record is popular"}},
	{Latest, "zipfian, the newest record first", law{new: newZipfian, flags: zipfianFlags, newestFirst: true, still: "the newest records are popular, and move by themselves"}},
	{Hotspot, "-hot-ops of the operations on the first -hot-keys of the records", law{new: newHotspot, flags: hotspotFlags}},
	{Scrambled, "zipfian over 10^10 items that are hashed to the records, as YCSB's core workloads draw", law{new: newScrambled, flags: zipfianFlags, hashed: true, still: Zipfian + " with -scramble spreads the popular records over all ids, too"}},
}

func noFlags(Config) string { return "" }

// flat gives each of n ranks the same mass.
type flat struct{ n uint64 }

func newFlat(c Config) (distribution, error) { return flat{c.Records}, nil }

func (f flat) mass(from, to uint64) float64 { return float64(to-from) / float64(f.n) }

func (f flat) cuts() []uint64 { return []uint64{0, f.n} }
