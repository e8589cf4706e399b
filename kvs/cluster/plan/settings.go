package plan

import (
	"strconv"
	"time"

	"kvlab/metrics"
)

// Settings are the final values of a node's flags. A nil Settings has none.
type Settings metrics.FlagValues

// Is reports whether a flag is set.
func (s Settings) Is(flag string) bool { return s[flag] == "true" }

// Number is a flag's value; 0 without one.
func (s Settings) Number(flag string) uint64 {
	n, _ := strconv.ParseUint(s[flag], 10, 64)
	return n
}

// Length is a length in the form of the client's flags: a number of seconds, or a duration
// with its unit. It is negative for anything else.
func (s Settings) Length(flag string) time.Duration {
	for _, text := range []string{s[flag] + "s", s[flag]} {
		if d, err := time.ParseDuration(text); err == nil {
			return d
		}
	}
	return -1
}
