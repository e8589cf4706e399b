package cluster

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"kvlab/kvs/cluster/plan"
	"kvlab/metrics"
)

// nullEngine is the servers' engine that stores nothing.
const nullEngine = "null"

// The windows of a ceiling are a tenth of the run's within these bounds, and the
// warm-up is for caches and connections alone: it is one figure to two digits, and
// a run should not wait for it.
const (
	shortestCeiling = 500 * time.Millisecond
	longestCeiling  = time.Second
	ceilingWarmUp   = 300 * time.Millisecond
)

// work is what a ceiling has to know of a run's.
type work struct {
	engine    string
	window    time.Duration
	records   uint64
	valueSize uint64
	coalesce  bool
}

// workOf asks the programs what a plan's arguments come to.
func workOf(ctx context.Context, p plan.Programs, plan plan.Plan) (work, error) {
	server, err := p.Settings(ctx, metrics.Server, plan.ServerArgs)
	if err != nil {
		return work{}, err
	}
	client, err := p.Settings(ctx, metrics.Client, plan.ClientArgs)
	if err != nil {
		return work{}, err
	}
	return work{
		engine: server.Engine, coalesce: client.Dedup, window: max(client.Window, 0),
		records: client.Records, valueSize: client.ValueSize,
	}, nil
}

// nullPlan is the plan with servers that store nothing, and a closed loop.
func (w work) nullPlan(plan plan.Plan, _ *metrics.Preflight) (plan.Plan, error) {
	if w.coalesce {
		return plan, errors.New("with -coalesce its one value would be sent once a reply")
	}
	plan.ServerArgs = append(without(plan.ServerArgs, "engine", "inject", "cpuprofile", "trace"), "-engine="+nullEngine)
	plan.ClientArgs = closedLoop(plan.ClientArgs)
	return plan, nil
}

// inprocPlan is the plan without servers: each client has a store of its own, with
// as many records as a server has, which must fit its machine beside those of the
// others there.
func (w work) inprocPlan(p plan.Plan, preflight *metrics.Preflight) (plan.Plan, error) {
	servers := uint64(p.Count(metrics.Server))
	records := (w.records + servers - 1) / servers
	isServer := func(p plan.Place) bool { return p.Role == metrics.Server }
	p.Places, p.ServerArgs = slices.DeleteFunc(slices.Clone(p.Places), isServer), nil
	if err := fits(records*(w.valueSize+storeOverhead), preflight); err != nil {
		return p, err
	}
	p.ClientArgs = append(closedLoop(p.ClientArgs), "-transport=inproc", "-engine="+w.engine,
		"-client=0", "-clients=1", "-records="+strconv.FormatUint(records, 10))
	return p, nil
}

// storeOverhead is what a record takes beside its value in the largest of the
// engines: its key twice, an entry of a map, headers.
const storeOverhead = 200

// fits says whether every machine has room for its clients' stores, in half of the
// memory that it has to spare.
func fits(bytes uint64, preflight *metrics.Preflight) error {
	if preflight == nil {
		return nil
	}
	for _, m := range preflight.Machines {
		if m.Facts == nil {
			continue
		}
		clients := uint64(0)
		for _, role := range m.Roles {
			if role == metrics.Client {
				clients++
			}
		}
		if free := m.Facts.Host.MemoryAvailableBytes; clients*bytes > free/2 {
			return fmt.Errorf("%s of stores on %s, of which %s are free", gigabytes(clients*bytes), m.Name(), gigabytes(free))
		}
	}
	return nil
}

// closedLoop are a client's arguments without a rate to keep to, without files to
// write, and without recording what another engine would answer.
func closedLoop(args []string) []string {
	return append(without(args, "engine", "rate", "arrivals", "cpuprofile", "trace", "warmup", "secs"), "-check=false")
}

// short gives a ceiling's plan its window.
func (w work) short(plan plan.Plan) plan.Plan {
	window := min(max(w.window/10, shortestCeiling), longestCeiling)
	if w.window > 0 {
		window = min(window, w.window)
	}
	plan.ClientArgs = append(slices.Clone(plan.ClientArgs),
		fmt.Sprintf("-warmup=%g", ceilingWarmUp.Seconds()), fmt.Sprintf("-secs=%g", window.Seconds()))
	return plan
}

// without takes flags and their values off a command line.
func without(args []string, flags ...string) []string {
	var rest []string
	for i := 0; i < len(args); i++ {
		switch name, _, joined := strings.Cut(strings.TrimLeft(args[i], "-"), "="); {
		case !strings.HasPrefix(args[i], "-") || !slices.Contains(flags, name):
			rest = append(rest, args[i])
		case !joined:
			i++
		}
	}
	return rest
}
