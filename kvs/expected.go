package kvs

// Expected is what a client is about to store, as far as it concerns one server.
// The zero Expected says nothing. It is a hint: a server that makes room by it is
// faster, and one that is told wrong is as right.
type Expected struct {
	Records    uint64 `json:"records,omitempty"`
	KeyBytes   int    `json:"key_bytes,omitempty"`   // of the longest key
	ValueBytes int    `json:"value_bytes,omitempty"` // of every value
}

// Valid reports whether there can be such records.
func (x Expected) Valid() bool {
	return x.KeyBytes >= 0 && x.KeyBytes <= MaxKeyLen && x.ValueBytes >= 0 && x.ValueBytes <= MaxValueLen
}
