package kvs

// Kind is what an operation does.
type Kind uint8

// The kinds of operation. The numbers are part of the wire format.
const (
	Get             Kind = iota // read the value of a key
	Put                         // store a value under a key
	ReadModifyWrite             // store a value and return the previous one, atomically

	Kinds = iota // their number
)

var kinds = [Kinds]struct {
	name   string
	reads  bool // its result is Found or Missing; else Stored
	writes bool // it carries a value
}{
	Get:             {name: "get", reads: true},
	Put:             {name: "put", writes: true},
	ReadModifyWrite: {name: "read-modify-write", reads: true, writes: true},
}

// reads and writes are columns of kinds for every possible byte, so that the op path
// indexes them without a bounds check.
var reads, writes = func() (r, w [1 << 8]bool) {
	for k, row := range kinds {
		r[k], w[k] = row.reads, row.writes
	}
	return r, w
}()

// String returns the kind's name in logs.
func (k Kind) String() string {
	if k >= Kinds {
		return "unknown"
	}
	return kinds[k].name
}

// Reads reports whether the result of an operation of the kind is Found or Missing.
func (k Kind) Reads() bool { return reads[k] }

// Writes reports whether operations of the kind carry a value.
func (k Kind) Writes() bool { return writes[k] }
