package contain

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"kvlab/internal/cli"
	"kvlab/kvs/node"
)

// Limits are the limits of a contained program; 0 and "" set none.
type Limits struct {
	Memory    uint64 // bytes, its files included
	Processes int    // their threads included
	Disk      uint64 // bytes of its files, which are in memory; usualDisk unless the text has another
	Files     int    // that a process has open
	Cores     string // the processors that it runs on, as in cpuset(7)
}

const usualDisk = 1e9

// form is an example of Limits as text.
const form = "memory=2GB,processes=256,disk=1GB,files=1024,cores=0-3"

// limitNames are the names in the text form.
var limitNames = []string{"memory", "processes", "disk", "files", "cores"}

// parseLimits reads the text form. Its error names the first mistake and the right form.
func parseLimits(text string) (Limits, error) {
	l := Limits{Disk: usualDisk}
	seen := make(map[string]bool)
	last := ""
	for item := range strings.SplitSeq(text, ",") {
		name, value, given := strings.Cut(item, "=")
		if !given && last == "cores" { // a list has commas, too
			name, value = last, l.Cores+","+item
		} else if seen[name] {
			return l, fmt.Errorf("%s is given twice", name)
		}
		seen[name], last = true, name
		if err := l.set(name, value); err != nil {
			return l, err
		}
	}
	return l, nil
}

// set sets the limit that has a name.
func (l *Limits) set(name, value string) (err error) {
	switch name {
	case "memory":
		l.Memory, err = parseBytes(name, value)
	case "disk":
		l.Disk, err = parseBytes(name, value)
	case "processes":
		l.Processes, err = parseNumber(name, value)
	case "files":
		l.Files, err = parseNumber(name, value)
	case "cores":
		if l.Cores = value; value != "" {
			_, err = node.ParseCores(value)
			return err
		}
		err = fmt.Errorf("cores: want a list such as 0-3,8")
	default:
		err = fmt.Errorf("%q is no limit%s; want %s", name, cli.DidYouMean(name, "", limitNames), form)
	}
	return err
}

// parseBytes reads a size such as 2GB.
func parseBytes(name, text string) (uint64, error) {
	n, ok := cli.ParseBytes(text)
	if !ok || n < 1e6 || n > math.MaxInt64/2 {
		return 0, fmt.Errorf("%s=%s: want 1MB or more, as in %[1]s=2GB", name, text)
	}
	return uint64(n), nil
}

func parseNumber(name, text string) (int, error) {
	n, err := strconv.Atoi(text)
	if err != nil || n < 16 {
		return 0, fmt.Errorf("%s=%s: want a number of at least 16, as in %[1]s=256", name, text)
	}
	return n, nil
}

// String returns the text form.
func (l Limits) String() string {
	var items []string
	add := func(given bool, name, value string) {
		if given {
			items = append(items, name+"="+value)
		}
	}
	add(l.Memory > 0, "memory", bytesText(l.Memory))
	add(l.Processes > 0, "processes", strconv.Itoa(l.Processes))
	add(l.Disk > 0, "disk", bytesText(l.Disk))
	add(l.Files > 0, "files", strconv.Itoa(l.Files))
	add(l.Cores != "", "cores", l.Cores)
	return strings.Join(items, ",")
}

// bytesText writes a size exactly, in the largest unit.
func bytesText(n uint64) string {
	switch {
	case n%1e9 == 0:
		return strconv.FormatUint(n/1e9, 10) + "GB"
	case n%1e6 == 0:
		return strconv.FormatUint(n/1e6, 10) + "MB"
	}
	return strconv.FormatUint(n, 10)
}
