package plan

import (
	"strconv"
	"strings"
	"time"
)

// Settings are the final values of a node's flags that the launcher uses. The value of a
// missing flag is zero.
type Settings struct {
	Engine       string
	Linearizable bool          // operations on some keys are verified
	Dedup        bool          // a reply sends a repeated value once
	AutoBatch    bool          // -batch auto
	AllowPublic  bool          // the server may listen on the control network
	RateIsShare  bool          // the rate is a share of a closed loop's
	WarmUp       time.Duration // negative: not stated
	Window       time.Duration // negative: not stated
	Workers      uint64
	Connections  uint64 // 0: one for each worker at most
	Records      uint64
	ValueSize    uint64
	Seed         uint64
}

// ReadSettings parses a program's flag values.
func ReadSettings(flags map[string]string) Settings {
	number := func(name string) uint64 {
		n, _ := strconv.ParseUint(flags[name], 10, 64)
		return n
	}
	is := func(name string) bool { return flags[name] == "true" }
	return Settings{
		Engine: flags["engine"], Linearizable: is("linearizable"), Dedup: is("dedup"), AutoBatch: flags["batch"] == "auto", AllowPublic: is("allow-public"),
		RateIsShare: strings.HasSuffix(flags["rate"], "%"),
		WarmUp:      parseSeconds(flags["warmup"]), Window: parseSeconds(flags["secs"]),
		Workers: number("workers"), Connections: number("connections"),
		Records: number("records"), ValueSize: number("value-size"), Seed: number("seed"),
	}
}

// parseSeconds parses a length in the form of the client's flags: a number of seconds,
// or a duration with its unit. It returns a negative duration for anything else.
func parseSeconds(value string) time.Duration {
	for _, text := range []string{value + "s", value} {
		if d, err := time.ParseDuration(text); err == nil {
			return d
		}
	}
	return -1
}
