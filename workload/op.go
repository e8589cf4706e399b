package workload

// Kind is the kind of an operation.
type Kind uint8

// The kinds of operation.
const (
	Read            Kind = iota
	Update               // replaces the record's value
	ReadModifyWrite      // reads the record, then replaces its value
	Insert               // adds a record
	Delete               // removes the record
	Scan                 // reads the record and those with the next larger keys

	Kinds = iota // their number
)

// kindNames are the names of the kinds.
var kindNames = [Kinds]string{"read", "update", "read-modify-write", "insert", "delete", "scan"}

// String returns the kind's name.
func (k Kind) String() string { return kindNames[k] }

// Op is one operation: a kind and the id of a record, in [0, Config.Records).
type Op struct {
	Kind Kind
	Key  uint64
}
