package cluster

import (
	"flag"
	"fmt"
	"io"
	"slices"

	"kvlab/kvs/cluster/plan"
	"kvlab/metrics"
)

const usageHead = `usage: run-cluster.sh [flags] [servers [clients [server-args [client-args]]]]

Starts servers and clients, loads the store, runs the workload, checks every
count and leaves everything in a new folder under logs/. Without flags the nodes
of the Slurm job or of the CloudLab experiment are used, half of them as servers;
elsewhere one server and one client run on this machine.

`

const usageTail = `
examples:
  run-cluster.sh                                  every node, half serve, half load
  run-cluster.sh --secs 5                         a quick look
  run-cluster.sh 2 2 "" "-workload YCSB-A"        2 servers, 2 clients, arguments for the clients
  run-cluster.sh --local 1 2 --client-args "-theta 0.5"
  run-cluster.sh --nodes node0,node1,node2,node3 --dry-run
  salloc -N 4 --exclusive ./run-cluster.sh        in a Slurm job: 2 servers, 2 clients
  run-cluster.sh --reap                           ends what kvlab has left on the nodes
  run-cluster.sh --symmetric --server-cores 0-3 --client-cores 4-7
  sudo run-cluster.sh --virtual 4 --link-rate 1gbit
  run-cluster.sh --hosts hosts.txt                lines: name [ssh=user@host[:port]] [addr=DATA-ADDRESS]
  run-cluster.sh --preflight                      is every node fit for a run? starts nothing
  run-cluster.sh --trials 6                       six trials, their median and its interval
  run-cluster.sh --trials 6 --grade plots/grades.txt
  run-cluster.sh --sweep nodes=2,4,8 --sweep batch=1024,8192 --trials 5
  run-cluster.sh --curve --client-args "-batch auto"
  run-cluster.sh --ab "" '--client-args "-batch 1024"' --trials 6
  run-cluster.sh --ab commit:HEAD~1 "" --server-args "-engine slab"
  run-cluster.sh --soak 30m                       half an hour in which no process may grow
  run-cluster.sh --selftest                       is the instrument right on these nodes?
  run-cluster.sh --slo p99=5ms --client-args "-batch auto"
`

const usageStatus = `
exit status: 0 verdict VALID, 1 verdict INVALID or failure, 2 bad usage, 130 interrupted
`

// mainFlags are the launcher's flags that the short help shows.
var mainFlags = []string{"nodes", "local", "secs", "trials", "sweep", "ab", "dry-run", "preflight"}

// printUsage prints the help: the flags that people set often, or all of them.
func printUsage(fs *flag.FlagSet, programs plan.Flags, all bool, w io.Writer) {
	fmt.Fprint(w, usageHead)
	isMain := func(name string) bool {
		flags := slices.Concat(programs[metrics.Server], programs[metrics.Client])
		return slices.Contains(mainFlags, name) || slices.ContainsFunc(flags, func(f metrics.Flag) bool { return f.Name == name && f.Main })
	}
	groups := []string{"servers and clients", "servers", "clients"}
	sets := map[string]*flag.FlagSet{}
	for _, group := range append(groups, "") {
		sets[group] = flag.NewFlagSet("", flag.ContinueOnError)
		sets[group].SetOutput(w)
	}
	fs.VisitAll(func(f *flag.Flag) {
		group := ""
		if isProgramFlag(f) {
			group = groupOf(f.Name, programs)
		}
		if all || isMain(f.Name) {
			sets[group].Var(f.Value, f.Name, f.Usage)
		}
	})
	sets[""].PrintDefaults()
	for _, group := range groups {
		title := fmt.Sprintf("\nflags of %s:\n", group)
		sets[group].VisitAll(func(*flag.Flag) {
			fmt.Fprint(w, title)
			title = ""
		})
		sets[group].PrintDefaults()
	}
	if !all {
		fmt.Fprint(w, "\n--help all lists every flag and gives more examples\n", usageStatus)
		return
	}
	fmt.Fprint(w, usageTail, usageStatus)
}
