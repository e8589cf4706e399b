// Kvscluster runs the benchmark on a cluster, or on this machine. It is started
// by run-cluster.sh, which builds it and the programs beside it; --help says how.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"

	"kvlab/kvs/cluster"
	"kvlab/kvs/cluster/virtual"
)

func main() {
	if status, ok := virtual.Main(); ok {
		os.Exit(status)
	}
	os.Exit(cluster.ExitStatus(run(context.Background(), os.Args[1:], os.Stdout, os.Stderr)))
}

// run starts the launcher for the checkout that the executable lies in. The
// first signal ends the run in order, the second at once.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	executable, err := os.Executable()
	if err != nil {
		return fmt.Errorf("find the programs: %w", err)
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	force := make(chan struct{})
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP)
	// A reader of our output that goes away (run-cluster.sh | head) is no
	// reason to die before the nodes are stopped.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)
	go func() {
		<-signals
		cancel()
		<-signals
		close(force)
		signal.Reset(syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP)
	}()

	launcher := cluster.New(filepath.Dir(filepath.Dir(executable)), stdout, stderr)
	launcher.Force = force
	err = launcher.Run(ctx, args)
	var invalid *cluster.InvalidError
	var relayed *cluster.RelayedError
	if err != nil && !errors.As(err, &invalid) && !errors.As(err, &relayed) {
		fmt.Fprintf(stderr, "run-cluster.sh: %v\n", err)
	}
	return err
}
