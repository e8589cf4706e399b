package plan

import (
	"errors"
	"strconv"
	"time"
)

// Spec describes a trial's processes, from the command line.
type Spec struct {
	Machines   int      // number of nodes; 0: all
	Servers    int      // number of servers; 0: half the nodes
	Clients    int      // number of clients; 0: the rest of the nodes
	ServerArgs []string // for every server, after the launcher's own
	ClientArgs []string // for every client, after the launcher's own

	Secs     int           // length of the window in seconds; 0: the client's default, or Soak
	Soak     time.Duration // length of a window over which no process may grow; 0: no soak
	Deadline time.Duration // of each trial; 0: the sum of what its steps may take

	RestartAt time.Duration // after the window's start, when the first server is killed and started again; 0: never

	Symmetric      bool   // every node serves and loads
	ServersPerNode int    // on each node that serves; 0 is 1
	ClientsPerNode int    // on each node that loads; 0 is 1
	ServerCores    string // processors that each server is bound to, as in cpuset(7); "" for any
	ClientCores    string // likewise

	ContainFlag *ContainFlag // nil: the launcher has no such flag
	Contain     Wrapper      // of the servers' programs; nil: they have the rights of the user
	Hosted      bool         // what is contained is a foreign store's program, which a server starts
}

// whole returns the wrapper of a server itself; nil for the host of a foreign store.
func (s Spec) whole() Wrapper {
	if s.Hosted {
		return nil
	}
	return s.Contain
}

// window returns the length of the window that the command line asks for; 0 means the client's
// own.
func (s Spec) window() time.Duration {
	if s.Soak > 0 {
		return s.Soak
	}
	return time.Duration(s.Secs) * time.Second
}

// Trusted returns how long a run's certificates are valid: the known length of the run and a
// day. The processes hold them only in memory.
func (s Spec) Trusted() time.Duration { return 24*time.Hour + s.window() + s.Deadline }

// ParseCount parses a count as the labs' script does: decimal digits, not zero.
func ParseCount(word string) (int, error) {
	n, err := strconv.Atoi(word)
	if err != nil || n <= 0 || word[0] == '+' {
		return 0, errors.New("must be a positive whole number")
	}
	return n, nil
}

// EncryptionFlag is the nodes' flag for encrypted calls.
const EncryptionFlag = "tls"
