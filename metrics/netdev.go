package metrics

import "strings"

// link is one interface's counters in /proc/net/dev (proc_pid_net(5)).
type link struct {
	name                                   string
	rxBytes, rxPackets, txBytes, txPackets uint64
}

// links returns the interfaces in the file's order.
func (fs procFS) links() ([]link, error) {
	f, err := fs.open("net/dev")
	if err != nil {
		return nil, err
	}
	return parseNetDev(f)
}

func parseNetDev(f procFile) ([]link, error) {
	const headerLines = 2
	if len(f.lines) < headerLines || !strings.Contains(f.lines[1], "|bytes") {
		return nil, f.errorf(min(len(f.lines), headerLines)-1, "no header of two lines")
	}
	var links []link
	seen := make(map[string]bool)
	for i := headerLines; i < len(f.lines); i++ {
		l, err := f.link(i)
		if err != nil {
			return nil, err
		}
		if seen[l.name] {
			return nil, f.errorf(i, "second line for interface %s", l.name)
		}
		seen[l.name] = true
		links = append(links, l)
	}
	return links, nil
}

// link reads "eth0: 97265820 5229 0 0 0 0 0 0 377099 3591 0 0 0 0 0 0": eight
// columns received, eight transmitted, of which bytes and packets come first.
// Columns hold digits only, so the last colon ends the name.
func (f procFile) link(i int) (link, error) {
	const columns, transmit = 16, 8
	colon := strings.LastIndexByte(f.lines[i], ':')
	if colon < 0 {
		return link{}, f.errorf(i, "no colon after an interface name in %q", f.lines[i])
	}
	l := link{name: strings.TrimSpace(f.lines[i][:colon])}
	fields := strings.Fields(f.lines[i][colon+1:])
	if l.name == "" || len(fields) < columns {
		return link{}, f.errorf(i, "interface %q has %d counters, want %d", l.name, len(fields), columns)
	}
	for _, c := range []struct {
		what   string
		column int
		value  *uint64
	}{
		{"received bytes", 0, &l.rxBytes},
		{"received packets", 1, &l.rxPackets},
		{"transmitted bytes", transmit, &l.txBytes},
		{"transmitted packets", transmit + 1, &l.txPackets},
	} {
		var err error
		if *c.value, err = f.uint(i, l.name+" "+c.what, fields[c.column]); err != nil {
			return link{}, err
		}
	}
	return l, nil
}
