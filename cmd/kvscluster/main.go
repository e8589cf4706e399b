// Kvscluster runs the benchmark on a cluster, or on this machine. It is started
// by run-cluster.sh, which builds it and the programs beside it; --help says how.
package main

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"

	"kvlab/extra/contain"
	"kvlab/extra/grade"
	"kvlab/extra/grade/pages"
	"kvlab/extra/profile"
	"kvlab/extra/serve/index"
	study "kvlab/extra/study/launch"
	"kvlab/extra/system/launch"
	"kvlab/extra/tune"
	"kvlab/extra/variants/routers"
	"kvlab/kvs/cluster"
	"kvlab/kvs/cluster/preflight"
	"kvlab/kvs/cluster/virtual"
	"kvlab/kvs/route"
	"kvlab/plots"
)

// launcher lists what the launcher has of extras, one a line.
func launcher(root, bin string) *cluster.Launcher {
	l := cluster.New(root, bin, os.Stdout, os.Stderr)
	l.Draw = plots.Pages{
		pages.Row,
		profile.Row,
	}.Draw
	l.List = index.Write
	l.Extras.Contain = &contain.Flag
	l.Extras.Kinds = []cluster.Kind{
		study.Kind,
		grade.Kind,
		launch.Kind,
	}
	l.Extras.Views = []preflight.View{
		tune.Row,
	}
	return l
}

// parts lists the programs that the launcher's own is too, in namespaces and behind walls.
var parts = []func() (status int, ok bool){
	contain.Main,
	virtual.Main,
}

func main() {
	for _, part := range parts {
		if status, ok := part(); ok {
			os.Exit(status)
		}
	}
	executable, err := os.Executable()
	if err != nil {
		fmt.Fprintf(os.Stderr, "run-cluster.sh: find the programs: %v\n", err)
		os.Exit(1)
	}
	bin := filepath.Dir(executable)
	root := cmp.Or(os.Getenv("KVLAB_ROOT"), filepath.Dir(bin)) // run-cluster.sh sets it with KVLAB_BIN
	route.Link(
		routers.Rows,
	)
	l := launcher(root, bin)
	ctx, force := interrupts()
	l.Force = force
	os.Exit(cluster.ExitStatus(l.Run(ctx, os.Args[1:])))
}

// interrupts ends the context at the first signal, for an end in order, and closes force
// at the second.
func interrupts() (ctx context.Context, force <-chan struct{}) {
	ctx, cancel := context.WithCancel(context.Background())
	closed := make(chan struct{})
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP)
	// A reader of our output that goes away (run-cluster.sh | head) is no
	// reason to die before the nodes are stopped.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)
	go func() {
		<-signals
		cancel()
		<-signals
		close(closed)
		signal.Reset(syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP)
	}()
	return ctx, closed
}
