package verdict

import (
	"flag"
	"fmt"

	"kvlab/kvs/route"
	"kvlab/metrics"
	"kvlab/workload"
)

// expectation is what a run's flags predict for its operations.
type expectation struct {
	name     string // the flags behind it, as they are typed
	records  uint64
	kinds    [len(metrics.KindNames)]float64 // their shares of all operations, 0 to 1
	topShare float64                         // of the most popular record; 1 where operations are not drawn independently
	router   string

	// cells are the shares of all operations by server and key group; nil where
	// operations are not drawn independently.
	cells [][]float64
	// variance is that of one cell's share, caused by the records beyond
	// workload.KnownRanks, whose keys are not looked up.
	variance float64

	top      []topRecord // the most popular records that stand out, the first one first
	balances []metrics.RouterBalance
}

// topRecord is where one of the most popular records lies, and its share.
type topRecord struct {
	server    int     // its number, in the clients' order
	cell      int     // of its key, which few other keys are in
	share     float64 // of all operations, 0 to 1
	cellShare float64 // that of all keys of its server in its cell
}

// expect returns what the flags of a run predict. It takes about 0.2 s for 10^6
// records.
func expect(flags map[string]string, servers int) (*expectation, error) {
	config := workload.DefaultConfig()
	router, prefix := route.Names[0], ""
	fs := flag.NewFlagSet("", flag.ContinueOnError)
	config.Define(fs)
	fs.StringVar(&router, "router", router, "")
	fs.StringVar(&prefix, "key-prefix", prefix, "")
	for name, value := range flags {
		if fs.Lookup(name) != nil && value != "" {
			if err := fs.Set(name, value); err != nil {
				return nil, fmt.Errorf("-%s %s: %w", name, value, err)
			}
		}
	}
	plan, err := workload.New(config)
	if err != nil {
		return nil, err
	}
	e := &expectation{
		name:     config.Flags(),
		records:  config.Records,
		kinds:    [...]float64{plan.Share(workload.Read), plan.Share(workload.Update), plan.Share(workload.ReadModifyWrite)},
		topShare: 1,
		router:   router,
	}
	if plan.Sequential() {
		return e, nil
	}
	e.topShare = plan.Mass(0)
	hot, err := findHot(plan, router, prefix, servers, config.Records)
	if err != nil {
		return nil, err
	}
	e.cells, e.variance = hot.groups(servers)
	e.top = hot.top(servers, plan)
	e.balances = hot.balances(servers, e.topShare)
	return e, nil
}
