package cluster

import (
	"flag"
	"fmt"
	"io"
	"slices"
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
  run-cluster.sh 2 2 --workload YCSB-A            2 servers, 2 clients
  run-cluster.sh 2 2 "" "-workload YCSB-A"        the labs' form: arguments for servers, for clients
  run-cluster.sh --local 1 2 --theta 0.5
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
  run-cluster.sh --curve --batch auto
  run-cluster.sh --ab "" "--batch 1024" --trials 6
  run-cluster.sh --ab commit:HEAD~1 "" --engine slab
  run-cluster.sh --soak 30m                       half an hour in which no process may grow
  run-cluster.sh --selftest                       is the instrument right on these nodes?
  run-cluster.sh --slo p99=5ms --batch auto
`

const usageStatus = `
exit status: 0 verdict VALID, 1 verdict INVALID or failure, 2 bad usage, 130 interrupted
`

// mainFlags are the flags that the short help shows.
var mainFlags = []string{"nodes", "local", "secs", "trials", "sweep", "ab", "dry-run", "preflight", "engine", "workload", "batch", "rate"}

// printUsage prints the help: the flags that people set often, or all of them.
func printUsage(fs *flag.FlagSet, all bool, w io.Writer) {
	fmt.Fprint(w, usageHead)
	for _, group := range []string{"", "servers and clients", "servers", "clients"} {
		shown := flag.NewFlagSet("", flag.ContinueOnError)
		shown.SetOutput(w)
		title := fmt.Sprintf("\nflags of %s:\n", group)
		if group == "" {
			title = ""
		}
		fs.VisitAll(func(f *flag.Flag) {
			of := ""
			if program, ok := f.Value.(*programFlag); ok {
				of = program.of
			}
			if of == group && (all || slices.Contains(mainFlags, f.Name)) {
				fmt.Fprint(w, title)
				title = ""
				shown.Var(f.Value, f.Name, f.Usage)
			}
		})
		shown.PrintDefaults()
	}
	if !all {
		fmt.Fprint(w, "\n--help all lists every flag and gives more examples\n", usageStatus)
		return
	}
	fmt.Fprint(w, usageTail, usageStatus)
}
