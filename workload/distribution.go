package workload

// distribution is a probability distribution over popularity ranks.
type distribution interface {
	// mass returns the probability of the ranks from, from+1, ..., to-1.
	mass(from, to uint64) float64
	// cuts splits all ranks into segments: segment i is cuts[i], ..., cuts[i+1]-1.
	// Inside a segment the mass of a rank is constant or falls almost linearly.
	cuts() []uint64
}

// distributionRow describes a distribution of operations over records. A new
// distribution is a file and a row of distributions.
type distributionRow struct {
	choice
	check func(Config) error // of the flags that only this distribution uses
	new   func(Config) distribution
	flags func(Config) string // the flags that check reads, as they are typed

	newestFirst bool // rank 0 is the record with the highest id, not with id 0
	sequential  bool // each worker visits the records in order and draws none
}

// distributions are all distributions, the default first. Ranks count records from
// the most popular, rank 0.
var distributions = []distributionRow{
	{choice: choice{Zipfian, "record k is drawn about as often as (k+1)^-theta"}, check: checkZipfian, new: newZipfian, flags: zipfianFlags},
	{choice: choice{Uniform, "all records alike"}, check: anyFlags, new: newFlat, flags: noFlags},
	{choice: choice{Sequential, "each worker visits all records in order, again and again"}, check: checkSequential, new: newFlat, flags: noFlags, sequential: true},
	{choice: choice{Latest, "zipfian, the record with the highest id first"}, check: checkZipfian, new: newZipfian, flags: zipfianFlags, newestFirst: true},
	{choice: choice{Hotspot, "-hot-ops of the operations on the first -hot-keys of the records"}, check: checkHotspot, new: newHotspot, flags: hotspotFlags},
}

func anyFlags(Config) error { return nil }

func noFlags(Config) string { return "" }
