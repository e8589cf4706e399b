package client

import (
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"math"
	"os"
	"slices"
	"strconv"

	"kvlab/kvs/loadgen"
	"kvlab/metrics"
	"kvlab/metrics/stats"
)

// ownFlags are those flags of a run's work that do not change its limit, or that
// a ceiling sets by itself.
var ownFlags = []string{"codec", "transport", "tls", "rate", "warmup", "secs"}

// adopt takes over the work and the result of the run that -against names. A flag
// that was given and says otherwise is an error: the limit of other work is no
// limit for it.
func (c *Ceiling) adopt(config *loadgen.Config, flags *flag.FlagSet, given map[string]bool) error {
	run, err := readRun(c.Against)
	if err != nil {
		return fmt.Errorf("-against: %w", err)
	}
	work := maps.Clone(run.Workload)
	for _, node := range run.Nodes {
		if node.Role == metrics.Server && node.Config != nil {
			work["engine"] = node.Config.Flags["engine"]
		}
	}
	auto := work["batch"] == "auto"
	if auto {
		work["batch"] = strconv.Itoa(reachedBatch(run))
		delete(work, "target-latency")
	}
	for _, name := range slices.Sorted(maps.Keys(work)) {
		if slices.Contains(ownFlags, name) {
			continue
		}
		f, value := flags.Lookup(name), work[name]
		switch {
		case f == nil:
			return fmt.Errorf("-against %s: the run had -%s %s, and this program has no such flag: use that of the run's build", c.Against, name, value)
		case f.Value.String() == value:
		case given[name]:
			return fmt.Errorf("-%s %s: the run of -against had -%s %s; leave the flag out", name, f.Value, name, value)
		default:
			if err := flags.Set(name, value); err != nil {
				return fmt.Errorf("-against %s: -%s %q: %w", c.Against, name, value, err)
			}
		}
	}
	if auto {
		adaptive := *config
		adaptive.AutoBatch = true
		config.Connections = adaptive.Lanes() // as the run's
	}
	c.run, c.Measured = run, run.OpsPerS
	config.Hosts = slices.Repeat([]string{"raw"}, run.Count(metrics.Server)) // where is known later
	if c.machines() > 1 && c.Gbps == 0 {
		return fmt.Errorf("-against %s: the run's %d machines have the wire between them: say how fast it is, as in -link-gbps 10", c.Against, c.machines())
	}
	return nil
}

// reachedBatch is the mean batch of a run's calls in the window: of what adapts
// its batches, the limit is that of this one.
func reachedBatch(run metrics.Run) int {
	var sum metrics.Counts
	for _, node := range run.Nodes {
		if node.Role == metrics.Client && node.Summary != nil {
			sum = sum.Add(node.Summary.InWindow)
		}
	}
	return max(1, int(math.Round(sum.PerCall())))
}

// readRun reads a run.json with a result.
func readRun(file string) (metrics.Run, error) {
	var run metrics.Run
	text, err := os.ReadFile(file)
	if err != nil {
		return run, err // it says open, the name and why
	}
	if err := json.Unmarshal(text, &run); err != nil {
		return run, fmt.Errorf("%s: %w", file, err)
	}
	switch {
	case !run.Verdict.Valid:
		return run, fmt.Errorf("%s: the run is %s and has no result", file, run.Verdict)
	case run.OpsPerS <= 0 || run.Workload == nil || run.Count(metrics.Server) == 0 || run.Count(metrics.Client) == 0:
		return run, fmt.Errorf("%s: not the run.json of a whole run", file)
	}
	return run, nil
}

// machines is how many different ones the run of -against had; without one, 1.
func (c *Ceiling) machines() int {
	names := make(map[string]bool)
	for _, node := range c.run.Nodes {
		if node.Config != nil {
			names[node.Config.Host.Hostname] = true
		}
	}
	return max(1, len(names))
}

// wire is what the wire between the servers and clients carries.
func (c *Ceiling) wire(servers int, f loadgen.Frames) stats.Wire {
	var shares []uint64
	for _, node := range c.run.Nodes {
		if node.Role == metrics.Server && node.Summary != nil {
			shares = append(shares, node.Summary.InWindow.Ops())
		}
	}
	return stats.Wire{
		Goodput:  stats.Goodput(c.Gbps),
		Servers:  servers,
		Clients:  max(1, c.run.Count(metrics.Client)),
		ToServer: f.Request / f.Ops,
		ToClient: f.Reply / f.Ops,
		Balance:  stats.Balance(shares),
	}
}
