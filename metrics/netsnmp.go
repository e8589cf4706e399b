package metrics

import (
	"slices"
	"strings"
)

// segments are the TCP segments that this machine has sent since boot: RetransSegs
// and OutSegs in /proc/net/snmp (RFC 4022).
type segments struct {
	again uint64
	first uint64 // those with something new in them
}

func (fs procFS) segments() (segments, error) {
	f, err := fs.open("net/snmp")
	if err != nil {
		return segments{}, err
	}
	return parseSegments(f)
}

func parseSegments(f procFile) (s segments, err error) {
	if s.again, err = f.tcpCounter("RetransSegs"); err != nil {
		return s, err
	}
	s.first, err = f.tcpCounter("OutSegs")
	return s, err
}

// tcpCounter looks the column up by its name in the first of the two Tcp lines,
// because kernels have added columns, and its value in the second.
func (f procFile) tcpCounter(counter string) (uint64, error) {
	const protocol = "Tcp:"
	for i, line := range f.lines {
		names := strings.Fields(line)
		if len(names) == 0 || names[0] != protocol {
			continue
		}
		column := slices.Index(names, counter)
		if column < 0 {
			return 0, f.errorf(i, "no column %s", counter)
		}
		if i+1 == len(f.lines) {
			return 0, f.errorf(i, "no line of values after the line of names")
		}
		values := strings.Fields(f.lines[i+1])
		if len(values) != len(names) || values[0] != protocol {
			return 0, f.errorf(i+1, "%d columns, want %s and %d values as the line before names them",
				len(values), protocol, len(names)-1)
		}
		return f.uint(i+1, counter, values[column])
	}
	return 0, f.missing(protocol)
}
