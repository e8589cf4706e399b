package cluster

import (
	"flag"
	"fmt"
	"strings"
	"time"

	"kvlab/metrics"
)

// shortestSoak leaves enough samples, of one a second, to judge.
const shortestSoak = 20 * time.Second

func (c *Config) soakFlags(fs *flag.FlagSet) {
	fs.DurationVar(&c.Soak, "soak", 0, "one window of this `time`, such as 30m or 24h, after the first tenth of which no process may grow in memory, goroutines or open descriptors")
}

// validateSoak checks --soak against the other flags.
func (c Config) validateSoak(set map[string]bool) error {
	switch {
	case !set["soak"]:
	case c.Soak < shortestSoak:
		return fmt.Errorf("--soak %s: want %s or more, as in --soak 30m", c.Soak, shortestSoak)
	case set["secs"]:
		return fmt.Errorf("--soak and --secs both give the window's length: give one of them")
	case c.Trials.many() || c.Trials.SLO != nil || c.Trials.Resume != "":
		return fmt.Errorf("--soak: it is one trial, without --trials, --until, --sweep, --curve, --slo and --resume")
	case c.Deadline > 0 && c.Deadline <= c.Soak:
		return fmt.Errorf("--deadline %s: the window of --soak %s is as long already", c.Deadline, c.Soak)
	}
	return nil
}

// soakText is a line for each process of a soak, and an empty one after them.
func soakText(run metrics.Run) string {
	var b strings.Builder
	for _, node := range run.Nodes {
		if node.Soak != nil {
			fmt.Fprintf(&b, "soak %s %s: %s\n", node.Role, node.Name, node.Soak)
		}
	}
	if b.Len() > 0 {
		b.WriteByte('\n')
	}
	return b.String()
}
