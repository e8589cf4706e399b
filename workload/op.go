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
	Scan                 // reads the record and the records with the next larger keys

	Kinds = iota // their number
)

// kindNames are the names of the kinds.
var kindNames = [Kinds]string{"read", "update", "read-modify-write", "insert", "delete", "scan"}

// String returns the kind's name.
func (k Kind) String() string { return kindNames[k] }

// Op is one operation.
type Op struct {
	Kind  Kind
	Limit uint32 // the most records that a Scan reads, 1 to Config.ScanLength; the bytes of a value that a trace writes; else 0
	// Key is a record's id. An Insert has an id, from Config.Records on, that no other
	// operation of the run inserts. All others have the id of a loaded record or, with
	// Latest, of a record that the same worker has inserted.
	Key uint64
}

// word returns the parts of the operation in one word, for a digest.
func (o Op) word() uint64 {
	return 4*o.Key + uint64(o.Kind&3) | uint64(o.Limit)<<44 | uint64(o.Kind>>2)<<60
}
