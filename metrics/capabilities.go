package metrics

// Capabilities are a program's engine and what it can do. A verdict makes the
// checks that they allow.
type Capabilities struct {
	Engine string `json:"engine,omitempty"` // of a server: what keeps the keys, in words
	Store  bool   `json:"store"`            // a read returns what was written; false of a ceiling
}

// AllCapabilities are those of a store.
var AllCapabilities = Capabilities{Store: true}
