package usage

import (
	"fmt"
	"os"
	"strings"
)

// link is one interface's counters in /proc/net/dev (proc_pid_net(5)).
type link struct {
	name                                   string
	rxBytes, rxPackets, txBytes, txPackets uint64
}

// links returns the interfaces in the file's order. procfs panics on a short line.
func (fs procFS) links() ([]link, error) {
	path := fs.dir + "/net/dev"
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var links []link
	for line := range strings.Lines(string(text)) {
		colon := strings.LastIndexByte(line, ':') // columns are numbers; a name may have a colon
		if colon < 0 {
			continue // one of the two lines of header
		}
		l := link{name: strings.TrimSpace(line[:colon])}
		var other uint64
		if _, err := fmt.Sscan(line[colon+1:], &l.rxBytes, &l.rxPackets, &other, &other, &other, &other, &other, &other, &l.txBytes, &l.txPackets); err != nil {
			return nil, fmt.Errorf("%s: interface %q: %w", path, l.name, err)
		}
		links = append(links, l)
	}
	return links, nil
}
