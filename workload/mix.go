package workload

import (
	"cmp"
	"math"
	"slices"

	"kvlab/internal/cli"
)

// The workloads. All but Pool and Mix are the core workloads of YCSB ("Benchmarking Cloud
// Serving Systems with YCSB", SoCC 2010).
//
// Pool has so few records that every history of its transactions can be recorded whole, and that
// transactions meet. Its writes are all read-modify-writes: each tells which value it replaced,
// so the order of a key's writes is known with any store ("MTC", arXiv 2504.02344). That of blind
// writes is known only if the store tells versions.
const (
	YCSBA = "YCSB-A"
	YCSBB = "YCSB-B"
	YCSBC = "YCSB-C"
	YCSBD = "YCSB-D"
	YCSBE = "YCSB-E"
	YCSBF = "YCSB-F"
	Pool  = "pool"
	Mix   = "mix"
)

// shares are the kinds' shares of the operations, which sum to 1.
type shares [Kinds]float64

// standard holds the settings of a workload: the shares, which are all 0 for Mix, and if no flag
// says otherwise the distribution, and the number of records, 0 for that of DefaultConfig.
type standard struct {
	shares       shares
	distribution string
	records      uint64
}

// workloads are all values of Config.Workload. A new workload is a row.
var workloads = []choice[standard]{
	{YCSBA, "50 % reads, 50 % updates", standard{shares{Read: 0.5, Update: 0.5}, Zipfian, 0}},
	{YCSBB, "95 % reads, 5 % updates", standard{shares{Read: 0.95, Update: 0.05}, Zipfian, 0}},
	{YCSBC, "reads only", standard{shares{Read: 1}, Zipfian, 0}},
	{YCSBD, "95 % reads, 5 % inserts, " + Latest, standard{shares{Read: 0.95, Insert: 0.05}, Latest, 0}},
	{YCSBE, "95 % scans, 5 % inserts", standard{shares{Scan: 0.95, Insert: 0.05}, Zipfian, 0}},
	{YCSBF, "50 % reads, 50 % read-modify-writes", standard{shares{Read: 0.5, ReadModifyWrite: 0.5}, Zipfian, 0}},
	{Pool, "64 records, " + Uniform + ", 50 % reads, 50 % read-modify-writes: a hot spot for transactions", standard{shares{Read: 0.5, ReadModifyWrite: 0.5}, Uniform, 64}},
	{Mix, "the shares that -reads, -rmws, -inserts, -deletes and -scans give, the rest updates", standard{shares{}, Zipfian, 0}},
}

// portion is a flag of Mix, which sets the share of a kind.
type portion struct {
	flag, of string
	kind     Kind
	share    *float64
}

// portions returns all flags of Mix, with their values in c.
func (c *Config) portions() [5]portion {
	return [...]portion{
		{"reads", "reads", Read, &c.Reads},
		{"rmws", "read-modify-writes", ReadModifyWrite, &c.ReadModifyWrites},
		{"inserts", "inserts", Insert, &c.Inserts},
		{"deletes", "deletes", Delete, &c.Deletes},
		{"scans", "scans", Scan, &c.Scans},
	}
}

// mix draws kinds.
type mix struct {
	shares shares
	kinds  []Kind   // the kinds with a share above 0, in order
	limits []uint64 // for each kind but the last, the sum of the shares up to it, in 2^-32
	pair   pair
	paired bool // pair draws the same kinds
}

// Share returns the share of operations of kind k, 0 to 1, as Plan.Share does. It is 0 in a
// configuration whose mix New refuses.
func (c Config) Share(k Kind) float64 {
	m, _ := newMix(c)
	return m.shares[k]
}

// newMix returns the mix of a configuration.
func newMix(c Config) (mix, error) {
	w, err := find("-workload", c.Workload, workloads)
	if err != nil {
		return mix{}, err
	}
	m := mix{shares: w.shares}
	if m.shares == (shares{}) {
		m.shares, err = c.ownShares()
	} else {
		for _, p := range c.portions() {
			err = cmp.Or(err, cli.Want(*p.share == StandardMix, "-"+p.flag, *p.share, "it only with -workload %s; %s has a fixed mix", Mix, c.Workload))
		}
	}
	scans := c.ScanLength >= 1 && c.ScanLength <= MaxScanLength
	if err := cmp.Or(err, cli.Want(scans, "-scan-length", c.ScanLength, "1 to %d records", MaxScanLength)); err != nil {
		return mix{}, err
	}
	sum := 0.0
	for k, share := range m.shares {
		if sum += share; share > 0 {
			m.kinds, m.limits = append(m.kinds, Kind(k)), append(m.limits, threshold(sum))
		}
	}
	m.limits = m.limits[:len(m.limits)-1]
	m.pair = pair{threshold: threshold(m.shares[Read]), write: Update}
	if m.shares[ReadModifyWrite] > 0 {
		m.pair.write = ReadModifyWrite
	}
	m.paired = !slices.ContainsFunc(m.kinds, func(k Kind) bool { return k != Read && k != m.pair.write })
	return m, nil
}

// threshold returns a share in units of 2^-32. A share of 1 exceeds a uint32.
func threshold(share float64) uint64 { return uint64(math.Round(math.Ldexp(share, 32))) }

// ownShares returns the shares that the flags of Mix set.
func (c Config) ownShares() (s shares, err error) {
	sum, given := 0.0, false
	for _, p := range c.portions() {
		if *p.share == StandardMix {
			continue
		}
		given = true
		err = cmp.Or(err, cli.Want(isShare(*p.share), "-"+p.flag, *p.share, "a share of %s from 0 to 1 with -workload %s, such as 0.7", p.of, Mix))
		s[p.kind] = *p.share
		sum += *p.share
	}
	if s[Update] = 1 - sum; s[Update] < 1e-12 { // rounding errors of the sum
		s[Update] = 0
	}
	return s, cmp.Or(err,
		cli.Want(given, "-reads", c.Reads, "a share of reads from 0 to 1 with -workload %s, such as 0.7, or one of another kind", Mix),
		cli.Want(sum <= 1+1e-12, "-workload", Mix, "shares of all kinds that sum to at most 1, not %g", sum))
}

// kind returns the kind that a random word selects by its upper 32 bits.
func (m *mix) kind(word uint64) Kind {
	at := uint64(0)
	for _, limit := range m.limits {
		at += 1 &^ below(word>>32, limit)
	}
	return m.kinds[at]
}

// pair draws reads and one kind of write.
type pair struct {
	threshold uint64 // the share of reads, in 2^-32
	write     Kind   // the kind of all other operations
}

// kind returns what mix.kind does. It masks write to 0, which is Read, because no processor
// could predict a branch.
func (p pair) kind(word uint64) Kind {
	return p.write &^ Kind(below(word>>32, p.threshold))
}

// below returns all ones if a is below b, and else 0, for numbers below 2^63.
func below(a, b uint64) uint64 { return uint64(int64(a-b) >> 63) }
