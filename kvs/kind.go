package kvs

// Kind is what an operation does.
type Kind uint8

// The kinds of operation. The numbers are part of the wire format.
const (
	Get             Kind = iota // read the value of a key
	Put                         // store a value under a key
	ReadModifyWrite             // store a value and return the previous one, atomically
	Insert                      // Put of a key that is new to the store; counted apart
	Delete                      // remove a key
	Scan                        // read the pairs of the Op.Limit smallest keys from Op.Key on, at one moment
	ScanPart                    // a Scan that another server counts: a client sends each scan to all servers, to one as Scan

	Kinds = iota // their number
)

var kinds = [Kinds]struct {
	name    string
	reads   bool // its result is Found or Missing; else Stored, or for a Delete Stored or Missing
	writes  bool // it stores its value
	carries bool // a value follows its key in a batch: what it writes, or a scan's limit
}{
	Get:             {name: "get", reads: true},
	Put:             {name: "put", writes: true, carries: true},
	ReadModifyWrite: {name: "read-modify-write", reads: true, writes: true, carries: true},
	Insert:          {name: "insert", writes: true, carries: true},
	Delete:          {name: "delete"},
	Scan:            {name: "scan", reads: true, carries: true},
	ScanPart:        {name: "scan-part", reads: true, carries: true},
}

// reads, writes and carries are columns of kinds for every possible byte, so that the op
// path indexes them without a bounds check.
var reads, writes, carries = func() (r, w, c [1 << 8]bool) {
	for k, row := range kinds {
		r[k], w[k], c[k] = row.reads, row.writes, row.carries
	}
	return r, w, c
}()

// String returns the kind's name in logs.
func (k Kind) String() string {
	if k >= Kinds {
		return "unknown"
	}
	return kinds[k].name
}

// Reads reports whether the result of an operation of the kind is Found or Missing. A
// Delete's is Stored or Missing, and a scan's is always Found.
func (k Kind) Reads() bool { return reads[k] }

// Writes reports whether operations of the kind store a value.
func (k Kind) Writes() bool { return writes[k] }

// Scans reports whether operations of the kind scan.
func (k Kind) Scans() bool { return k == Scan || k == ScanPart }

// Carries reports whether operations of the kind have a value in a batch: one that they
// store, or the limit of a scan.
func (k Kind) Carries() bool { return carries[k] }
