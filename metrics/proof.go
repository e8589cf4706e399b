package metrics

// WorkerCounts is one worker's account of its operations: what it drew, and what
// of that came back.
type WorkerCounts struct {
	Loaded   uint64 `json:"loaded"`   // operations of the load that it verified
	Drawn    uint64 `json:"drawn"`    // operations of the workload that it drew
	Verified uint64 `json:"verified"` // operations that it verified, from load to drain

	OpeningOps uint64 `json:"opening_ops"` // operations of its first rounds
	Opening    string `json:"opening"`     // their digest, as it drew them, in hex
	Redrawn    string `json:"redrawn"`     // digest of as many, drawn again at the end from nothing but the configuration
}

// Law is what a run's configuration says of its operations before any is drawn.
type Law struct {
	Name             string  `json:"name"` // the flags behind it, as they are typed
	Records          uint64  `json:"records"`
	Gets             float64 `json:"gets"` // share of all operations, 0 to 1
	Puts             float64 `json:"puts"` // likewise
	ReadModifyWrites float64 `json:"read_modify_writes"`
	Heaviest         float64 `json:"heaviest"` // share of the most popular record; 1 where operations are not drawn independently
	Router           string  `json:"router"`

	// Cells are the shares of all operations by server, in the clients' order,
	// and by key group; nil where operations are not drawn independently.
	Cells [][]float64 `json:"cells,omitempty"`
	// Spread is the variance of one cell's share for want of those records whose
	// places were not looked up, because they are too many.
	Spread float64 `json:"spread,omitempty"`

	Head     []HeadRecord    `json:"head,omitempty"`     // the most popular records that stand out, the first one first
	Balances []RouterBalance `json:"balances,omitempty"` // as Skew has them
}

// HeadRecord is where one of the most popular records lies, and what theory gives
// it.
type HeadRecord struct {
	Server    int     `json:"server"`     // its number, in the clients' order
	Cell      int     `json:"cell"`       // of its key, which few other keys are in
	Share     float64 `json:"share"`      // of all operations, 0 to 1
	CellShare float64 `json:"cell_share"` // that of all keys of its server in its cell
}

// Seen is what a server saw of its operations. Groups and Values come of a sample.
type Seen struct {
	Records uint64    `json:"records"`       // keys in the store at the end
	Groups  []uint64  `json:"groups"`        // sampled operations of the window by key group
	Busiest []CellOps `json:"busiest"`       // the cells of keys that had most of these operations
	Values  Values    `json:"values"`        // that were stored in the window
	Before  Values    `json:"values_before"` // that were stored before it
}

// CellOps is the number of sampled operations on the keys of a cell.
type CellOps struct {
	Cell int    `json:"cell"`
	Ops  uint64 `json:"ops"`
}

// Values is a sample of stored values.
type Values struct {
	Count      uint64 `json:"count"`
	Bytes      uint64 `json:"bytes"`
	Compressed uint64 `json:"compressed"` // bytes that DEFLATE makes of all of them together
}
