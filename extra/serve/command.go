package serve

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"kvlab/extra/serve/index"
	"kvlab/plots/command"
)

// Command shows a folder of runs to a browser until the program is interrupted.
var Command = command.Command{
	Name:     "serve",
	Synopsis: []string{"serve [LOGS] [-addr 127.0.0.1:PORT]"},
	Usage: `serve: serves a page on this machine alone, on port 7070 without -addr: the list of the
runs in LOGS (logs) with their reports and files, the current run second by second, and
/metrics as OpenMetrics text. Ctrl-C ends it.
`,
	Run: func(c *command.Call) error {
		addr := c.Flags.String("addr", "127.0.0.1:7070", "the loopback `address` of the page")
		dir, err := index.Folder(c)
		if err != nil {
			return err
		}
		if _, err := os.Stat(dir); err != nil {
			return command.UsageError{Err: err}
		}
		listener, err := Listen(*addr)
		if err != nil {
			return command.Wrong("-addr %s: %w", *addr, err)
		}
		ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
		defer stop()
		fmt.Fprintf(c.Stdout, "http://%s/ shows %s; Ctrl-C ends it\n", listener.Addr(), dir)
		return Serve(ctx, listener, dir)
	},
}
