package usage

import (
	"fmt"
	"os"
	"slices"
	"strconv"
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
	links, err := parseNetDev(string(text))
	if err != nil {
		return nil, fmt.Errorf("%s:%w", path, err)
	}
	return links, nil
}

// parseNetDev's errors begin with the number of a line.
func parseNetDev(text string) ([]link, error) {
	header, columns := 2, false
	var links []link
	i := 0
	for line := range strings.Lines(text) {
		i++
		line, whole := strings.CutSuffix(line, "\n") // the kernel ends each line with one
		if i <= header {
			columns = strings.Contains(line, "|bytes")
			continue
		}
		l, err := parseLink(line)
		switch {
		case err != nil:
			return nil, fmt.Errorf("%d: %w", i, err)
		case !whole:
			return nil, fmt.Errorf("%d: cut short after %q", i, line)
		case slices.ContainsFunc(links, func(k link) bool { return k.name == l.name }):
			return nil, fmt.Errorf("%d: second line for interface %s", i, l.name)
		}
		links = append(links, l)
	}
	if !columns {
		return nil, fmt.Errorf("%d: no header of two lines", min(i, header))
	}
	return links, nil
}

// parseLink reads "eth0: 97265820 5229 0 0 0 0 0 0 377099 3591 0 0 0 0 0 0": eight
// columns received, eight transmitted, of which bytes and packets come first.
// Columns hold digits only, so the last colon ends the name.
func parseLink(line string) (link, error) {
	const columns, transmit = 16, 8
	colon := strings.LastIndexByte(line, ':')
	if colon < 0 {
		return link{}, fmt.Errorf("no colon after an interface name in %q", line)
	}
	l := link{name: strings.TrimSpace(line[:colon])}
	fields := strings.Fields(line[colon+1:])
	if l.name == "" || len(fields) < columns {
		return link{}, fmt.Errorf("interface %q has %d counters, want %d", l.name, len(fields), columns)
	}
	for column, value := range map[int]*uint64{0: &l.rxBytes, 1: &l.rxPackets, transmit: &l.txBytes, transmit + 1: &l.txPackets} {
		var err error
		if *value, err = strconv.ParseUint(fields[column], 10, 64); err != nil {
			return link{}, fmt.Errorf("interface %q: counter %d is %q, want an unsigned number", l.name, column+1, fields[column])
		}
	}
	return l, nil
}
