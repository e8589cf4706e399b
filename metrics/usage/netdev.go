package usage

import (
	"fmt"
	"os"
	"strings"

	"github.com/prometheus/procfs"
)

// links returns the interfaces in /proc/net/dev (proc_pid_net(5)). The reader of procfs
// panics on a short line.
func (fs procFS) links() (procfs.NetDev, error) {
	path := fs.dir + "/net/dev"
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	links := make(procfs.NetDev)
	for line := range strings.Lines(string(text)) {
		colon := strings.LastIndexByte(line, ':') // columns are numbers; a name may have a colon
		if colon < 0 {
			continue // one of the two lines of header
		}
		l := procfs.NetDevLine{Name: strings.TrimSpace(line[:colon])}
		var other uint64
		if _, err := fmt.Sscan(line[colon+1:], &l.RxBytes, &l.RxPackets, &other, &other, &other, &other, &other, &other, &l.TxBytes, &l.TxPackets); err != nil {
			return nil, fmt.Errorf("%s: interface %q: %w", path, l.Name, err)
		}
		links[l.Name] = l
	}
	return links, nil
}
