package workload

import (
	"flag"
	"fmt"
	"strconv"
	"strings"

	"kvlab/internal/cli"
)

// Define adds the flags of the configuration to fs, with its values as defaults.
func (c *Config) Define(fs *flag.FlagSet) {
	fs.Var((*name)(&c.Workload), "workload", cli.Usage(workloads)+"; A or workloada is YCSB-A")
	for _, p := range c.portions() {
		fs.Var(share{p.share}, p.flag, "`share` of "+p.of+" of -workload mix, 0 to 1; the rest are updates")
	}
	fs.Uint64Var(&c.ScanLength, "scan-length", c.ScanLength, "the most `records` that a scan reads; all numbers up to it are equally likely")
	fs.StringVar(&c.Distribution, "distribution", c.Distribution, cli.Usage(distributions)+" (default "+Zipfian+", "+Latest+" with "+YCSBD+")")
	fs.StringVar(&c.Zipfian, "zipfian", c.Zipfian, "the `form` of zipfian, latest and scrambled: "+cli.Usage(zipfianForms))
	fs.Float64Var(&c.Theta, "theta", c.Theta, "the `exponent` of zipfian, latest and scrambled, above 0")
	fs.Float64Var(&c.HotOps, "hot-ops", c.HotOps, "hotspot: `share` of the operations that go to hot records")
	fs.Float64Var(&c.HotKeys, "hot-keys", c.HotKeys, "hotspot, and -hot-move: `share` of the records that are hot")
	fs.Var(cli.Count(&c.HotMove), "hot-move", "hotspot and zipfian: after every `number` of operations of all clients together, the ranks of the records shift by the hot ones, so that others are hot; each worker moves by the count of its own operations, times that of all workers; 0 for never")
	fs.BoolVar(&c.Scramble, "scramble", c.Scramble, "spread the popular records over all ids")
	fs.Var(cli.Count(&c.Records), "records", "`number` of records, loaded before the run; with -replay those that the trace loads")
	fs.StringVar(&c.Replay, "replay", c.Replay, "a compiled trace, such as t.kvt of kvsplot trace import: its operations take the place of -workload's, and each read is checked exactly")
	fs.StringVar(&c.TraceKeys, "trace-keys", c.TraceKeys, "the `keys` of a replay: "+OwnKeys+", of the trace's lengths, or "+OriginalKeys+", as for the slots of Redis Cluster: the trace was imported with -keys; -key-prefix precedes them")
	fs.BoolVar(&c.ReplayLoop, "replay-loop", c.ReplayLoop, "begin the trace again at its end, with new keys for those that are not loaded, and measure for -secs; without it the run ends with the trace")
	fs.Var(cli.Count(&c.Ops), "ops", "end the run with its operations, this `number` of all clients together, or with -secs if that is given too and comes first; it begins with the window; with -replay the first of the trace; 0 is no limit")
	fs.Uint64Var(&c.Seed, "seed", c.Seed, "root of all random choices: the same seed gives the same operations")
}

// name is the value of a flag: the name of a workload. A, workloada and ycsb-a are YCSB-A.
type name string

func (n *name) Set(text string) error {
	*n = name(text) // newMix refuses an unknown one
	letter := strings.ToLower(text)
	for _, prefix := range []string{"workload", "ycsb-", "ycsb"} {
		letter = strings.TrimPrefix(letter, prefix)
	}
	for _, w := range workloads {
		if strings.EqualFold(text, w.name) || strings.EqualFold("YCSB-"+letter, w.name) {
			*n = name(w.name)
		}
	}
	return nil
}

func (n *name) String() string { return string(*n) }

// share is the value of a flag: a number from 0 to 1, or "" for StandardMix.
type share struct{ of *float64 }

func (s share) Set(text string) error {
	n, err := strconv.ParseFloat(text, 64)
	if err != nil || !isShare(n) {
		return fmt.Errorf("want a share from 0 to 1, such as 0.7")
	}
	*s.of = n
	return nil
}

func (s share) String() string {
	if s.of == nil || *s.of == StandardMix {
		return ""
	}
	return strconv.FormatFloat(*s.of, 'g', -1, 64)
}
