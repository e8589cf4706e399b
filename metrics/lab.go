package metrics

import (
	"fmt"

	"kvlab/metrics/format"
)

// Lab says that a run's nodes were no machines of their own, but hosts of a
// virtual lab: network namespaces on one machine, which share its cores and
// memory. Such a run's number is never a cluster's.
type Lab struct {
	Hosts        int    `json:"hosts"`
	LinkBitsPerS uint64 `json:"link_bits_per_s"` // of each host's data link, in each direction; 0: as fast as the machine
	CPUShares    bool   `json:"cpu_shares"`      // every host is due the same share of the cores
}

// String is the lab in words, as the terminal and the report show it; "" for
// nil.
func (l *Lab) String() string {
	if l == nil {
		return ""
	}
	text := fmt.Sprintf("virtual lab, %d hosts on one machine, ", l.Hosts)
	if l.LinkBitsPerS == 0 {
		return text + "links not shaped"
	}
	return text + "links " + format.BitRate(l.LinkBitsPerS)
}
