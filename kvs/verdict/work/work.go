// Package work reads what the clients of a run do from their flags.
package work

import (
	"flag"
	"fmt"

	"kvlab/kvs/route"
	"kvlab/metrics"
	"kvlab/workload"
	"kvlab/workload/size"
)

// Of returns the configuration of the operations, the router and the keys that the
// flags of a run set.
func Of(flags map[string]string) (config workload.Config, router string, keys route.Keys, err error) {
	config, router = workload.DefaultConfig(), route.Names[0]
	prefix, keySize := "", size.Law{}
	fs := flag.NewFlagSet("", flag.ContinueOnError)
	config.Define(fs)
	fs.StringVar(&router, "router", router, "")
	fs.StringVar(&prefix, "key-prefix", prefix, "")
	fs.Var(&keySize, "key-size", "")
	for name, value := range flags {
		if fs.Lookup(name) != nil && value != "" {
			if err := fs.Set(name, value); err != nil {
				return config, router, keys, fmt.Errorf("-%s %s: %w", name, value, err)
			}
		}
	}
	if _, err := config.Resolve(); err != nil {
		return config, router, keys, err
	}
	return config, router, route.NewKeys(config, prefix, keySize), nil
}

// Drawn returns how many operations each worker of a run drew.
func Drawn(run *metrics.Run) (drawn []uint64) {
	for _, client := range run.Summaries(metrics.Client) {
		for _, w := range client.Workers {
			drawn = append(drawn, w.Drawn)
		}
	}
	return drawn
}

// Has reports whether the workload of a client's flags has operations of a kind.
func Has(flags metrics.Settings, kind workload.Kind) bool {
	config, _, _, err := Of(flags)
	if err != nil {
		return false // the client has refused them
	}
	plan, err := workload.New(config)
	return err == nil && plan.Share(kind) > 0
}

// CheckRestart returns an error unless a run of these flags of the clients can be judged
// when a server is killed in the window: an operation whose outcome is unknown must not
// decide which keys there are.
func CheckRestart(flags metrics.Settings) error {
	config, _, _, err := Of(flags)
	if err != nil {
		return err
	}
	plan, err := workload.New(config)
	if err != nil {
		return err
	}
	if plan.Replays() || plan.Share(workload.Insert)+plan.Share(workload.Delete)+plan.Share(workload.Scan) > 0 {
		return fmt.Errorf("--restart-at: -workload %s inserts, deletes or scans: want only gets, puts and read-modify-writes, as YCSB-A, YCSB-B, YCSB-C and YCSB-F have", config.Workload)
	}
	return nil
}
