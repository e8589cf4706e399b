package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"kvlab/extra/serve"
	"kvlab/extra/serve/index"
	"kvlab/metrics/format"
)

// runsFolder parses the flags of a command on a folder of runs, and returns the folder: the
// launcher's default without one.
func runsFolder(flags *flag.FlagSet, args []string, stdout io.Writer) (string, error) {
	words, err := parse(flags, args, stdout)
	switch {
	case err != nil:
		return "", err
	case len(words) > 1:
		return "", usageError{errors.New("want one folder of runs, such as logs")}
	}
	return append(words, "logs")[0], nil
}

// list prints a line for each run folder.
func list(args []string, stdout, _ io.Writer) error {
	dir, err := runsFolder(newFlags(), args, stdout)
	if err != nil {
		return err
	}
	all, err := index.Read(dir)
	if err != nil {
		return usageError{err}
	}
	if len(all) == 0 {
		return usageError{fmt.Errorf("%s has no run folder", dir)}
	}
	_, err = io.WriteString(stdout, index.Text(all, format.Width(stdout)))
	return err
}

// serveRuns shows a folder of runs to a browser until the program is interrupted.
func serveRuns(args []string, stdout, _ io.Writer) error {
	flags := newFlags()
	addr := flags.String("addr", "127.0.0.1:7070", "the loopback `address` of the page")
	dir, err := runsFolder(flags, args, stdout)
	if err != nil {
		return err
	}
	if _, err := os.Stat(dir); err != nil {
		return usageError{err}
	}
	listener, err := serve.Listen(*addr)
	if err != nil {
		return usageError{fmt.Errorf("-addr %s: %w", *addr, err)}
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	fmt.Fprintf(stdout, "http://%s/ shows %s; Ctrl-C ends it\n", listener.Addr(), dir)
	return serve.Serve(ctx, listener, dir)
}
