package metrics

import (
	"slices"
	"strings"
)

// Claimed is what a team's own program says of itself, in lines of its output. Nobody has verified
// it. A client claims the rate of its run, and a server the rates of its seconds.
type Claimed struct {
	OpsPerS float64 `json:"ops_per_s"`                  // a client's result; the mean of a server's seconds
	Ops     uint64  `json:"ops,omitempty"`              // of the whole run, if the program tells; of a server, what its seconds add up to
	Line    string  `json:"line,omitempty"`             // the line with OpsPerS; of a server, its last one; where no line has a rate, the last of the output
	Result  string  `json:"result,omitempty"`           // the regular expression of the program's file that finds the line; "" is the course's lines
	Lines   int     `json:"lines"`                      // how many lines have a rate; 0: nothing is claimed
	Median  float64 `json:"median_ops_per_s,omitempty"` // of a server's seconds
	Most    uint64  `json:"most,omitempty"`             // of a server: its operations at most, where each line may have come a line late

	Program string  `json:"program"`                 // the name in its file
	Commit  string  `json:"git_commit,omitempty"`    // of the program, as Store.Commit
	SHA256  string  `json:"binary_sha256,omitempty"` // of the program; "" of one that no process was seen of
	RanS    float64 `json:"ran_s,omitempty"`         // of a client: from the program's start to its end
	CPUS    float64 `json:"cpu_s,omitempty"`         // of a client: the program's processor time, with that of the processes it waited for

	After float64 `json:"after_ops_per_s,omitempty"` // of a server: by its first line of a time wholly after the last client's end

	// Of a client, what the kernel says of the connections between its machine and the servers that
	// ended in its time; nil where it does not tell.
	Carried *Carried `json:"carried,omitempty"`
}

// IsClaimed reports whether the run's servers are a team's own, as its clients are: nobody has
// verified what they did.
func (r Run) IsClaimed() bool { return r.hosts(Client) && r.hosts(Server) }

// OutputFile returns the name of the file, in a run's folder, of what the program prints that a
// node of a role starts.
func OutputFile(role Role, node string) string {
	if role == Client {
		return "team-" + node + ".log"
	}
	return "store-" + node + ".log"
}

// HostsClient reports whether the run's clients are a team's own.
func (r Run) HostsClient() bool { return r.hosts(Client) }

// Together returns the verdict on trials that all stand: CLAIMED if one of them is.
func Together(trials []Trial) Verdict {
	claimed := slices.ContainsFunc(trials, func(t Trial) bool { return t.Verdict.Claimed })
	return Verdict{Valid: !claimed, Claimed: claimed}
}

// ResultWord returns what the trials with a result are: "valid", "CLAIMED", or "valid or CLAIMED".
func ResultWord(trials []Trial) string {
	var is []string
	if !Together(trials).Claimed || slices.ContainsFunc(trials, func(t Trial) bool { return t.Verdict.Valid }) {
		is = append(is, "valid")
	}
	if together := Together(trials); together.Claimed {
		is = append(is, together.Word())
	}
	return strings.Join(is, " or ")
}

// hosts reports whether the nodes of a role start a team's own program.
func (r Run) hosts(role Role) bool {
	config := r.Config(role)
	return config != nil && config.Capabilities != nil && config.Capabilities.Driver == ClaimsDriver
}

// ClaimsDriver is the driver of a team's own programs, which say what they do.
const ClaimsDriver = "claims"

// Carried is what closed connections have carried, by their own machine's kernel.
type Carried struct {
	Connections uint64 `json:"connections"`
	Bytes              // acknowledged by the peer, and received
	Segments    uint64 `json:"data_segments"` // received, with data in them
	Unread      uint64 `json:"unread"`        // bytes received that the program had not read, without the one that may be a FIN
	Unsent      uint64 `json:"unsent"`        // bytes written that the peer had not acknowledged, likewise
}
