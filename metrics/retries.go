package metrics

import (
	"cmp"
	"fmt"

	"kvlab/metrics/format"
)

// Retries counts the repairs of broken connections in a run with -retry. A repeated
// call still counts once.
type Retries struct {
	Connections uint64 `json:"connections"`                // that clients made again
	Calls       uint64 `json:"calls_sent_again"`           // by clients
	Remembered  uint64 `json:"calls_answered_from_memory"` // by servers, which had applied them before
	First       string `json:"first,omitempty"`            // why the first connection of some client broke
}

// Add returns the sum of two; nil is none.
func (r *Retries) Add(s *Retries) *Retries {
	if r == nil || s == nil {
		return cmp.Or(r, s)
	}
	return &Retries{r.Connections + s.Connections, r.Calls + s.Calls, r.Remembered + s.Remembered, cmp.Or(r.First, s.First)}
}

// String says it in a line.
func (r *Retries) String() string {
	text := fmt.Sprintf("%s broke: %s sent again, %d answered from memory",
		format.Plural(r.Connections, "connection"), were(r.Calls, "call"), r.Remembered)
	if r.First != "" {
		text += "; the first connection: " + r.First
	}
	return text
}

func were(n uint64, what string) string {
	if n == 1 {
		return format.Plural(n, what) + " was"
	}
	return format.Plural(n, what) + " were"
}
