package metrics

// Claimed is what a team's own program says of itself, in lines of its output. Nobody has verified
// it. A client claims the rate of its run, and a server the rates of its seconds.
type Claimed struct {
	OpsPerS float64 `json:"ops_per_s"`      // a client's result; the mean of a server's seconds
	Ops     uint64  `json:"ops,omitempty"`  // of the whole run, if the program tells; of a server, what its seconds add up to
	Line    string  `json:"line,omitempty"` // the line with OpsPerS; of a server, its last one
	Lines   int     `json:"lines"`          // how many lines have a rate; 0: nothing is claimed
	Most    uint64  `json:"most,omitempty"` // of a server: its operations at most, where each line may have come a line late

	Program string  `json:"program"`                 // the name in its file
	Commit  string  `json:"git_commit,omitempty"`    // of the program, as Store.Commit
	SHA256  string  `json:"binary_sha256,omitempty"` // of the program; "" of one that no process was seen of
	RanS    float64 `json:"ran_s,omitempty"`         // of a client: from the program's start to its end

	// What the kernel says of the connections between the team's client and servers, when they were
	// closed; nil where it does not tell.
	Carried *Carried `json:"carried,omitempty"`
}

// Carried is what closed connections have carried, by their own machine's kernel.
type Carried struct {
	Connections uint64 `json:"connections"`
	Bytes              // acknowledged by the peer, and received
	Segments    uint64 `json:"data_segments"` // received, with data in them
	Unread      uint64 `json:"unread"`        // bytes received that the program had not read
	Unsent      uint64 `json:"unsent"`        // bytes written that the peer had not acknowledged
}
