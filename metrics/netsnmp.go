package metrics

import (
	"slices"
	"strings"
)

// retransmits returns how many TCP segments this machine has sent again since
// boot: RetransSegs in /proc/net/snmp (RFC 4022, tcpRetransSegs).
func (fs procFS) retransmits() (uint64, error) {
	f, err := fs.open("net/snmp")
	if err != nil {
		return 0, err
	}
	return parseRetransmits(f)
}

// parseRetransmits looks the column up by its name in the first of the two Tcp
// lines, because kernels have added columns, and its value in the second.
func parseRetransmits(f procFile) (uint64, error) {
	const protocol, counter = "Tcp:", "RetransSegs"
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
