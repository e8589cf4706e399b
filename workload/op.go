package workload

import "fmt"

// Kind is the kind of an operation.
type Kind uint8

// The kinds of operation.
const (
	Read            Kind = iota
	Update               // replaces the record's value
	ReadModifyWrite      // reads the record, then replaces its value
)

// String returns the kind's name in lower case, such as "read-modify-write".
func (k Kind) String() string {
	switch k {
	case Read:
		return "read"
	case Update:
		return "update"
	case ReadModifyWrite:
		return "read-modify-write"
	}
	return fmt.Sprintf("kind(%d)", uint8(k))
}

// Op is one operation: a kind and the id of a record, in [0, Config.Records).
type Op struct {
	Kind Kind
	Key  uint64
}
