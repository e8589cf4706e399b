// Command go-ycsb is pingcap's go-ycsb with two databases: kvlab, its servers by kvlab's
// own driver, and redis, go-ycsb's own binding. Its workload files come with go-ycsb.
//
//	go-ycsb load kvlab -P workloada -p kvlab.hosts=127.0.0.1:8080
//	go-ycsb run kvlab -P workloada -p kvlab.hosts=127.0.0.1:8080 -threads 16
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"syscall"

	"github.com/magiconair/properties"
	_ "github.com/pingcap/go-ycsb/db/redis"
	"github.com/pingcap/go-ycsb/pkg/client"
	"github.com/pingcap/go-ycsb/pkg/measurement"
	"github.com/pingcap/go-ycsb/pkg/prop"
	_ "github.com/pingcap/go-ycsb/pkg/workload"
	"github.com/pingcap/go-ycsb/pkg/ycsb"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, os.Args[1:]); err != nil {
		fmt.Fprintf(os.Stderr, "go-ycsb: %v\n", err)
		os.Exit(1)
	}
}

// run loads or runs a workload, and prints go-ycsb's measurements.
func run(ctx context.Context, args []string) (err error) {
	if len(args) < 2 || args[0] != "load" && args[0] != "run" {
		return errors.New("usage: go-ycsb load|run kvlab|redis [-P file] [-p name=value] [-threads n]")
	}
	p, err := parse(args[2:])
	if err != nil {
		return err
	}
	set(p, prop.DoTransactions, strconv.FormatBool(args[0] == "run"))
	set(p, prop.Command, args[0])
	creator := ycsb.GetDBCreator(args[1])
	if creator == nil {
		return fmt.Errorf("no database %q: want kvlab or redis", args[1])
	}
	workloads := ycsb.GetWorkloadCreator(p.GetString(prop.Workload, "core"))
	if workloads == nil {
		return fmt.Errorf("no workload %q: want core", p.GetString(prop.Workload, ""))
	}
	measurement.InitMeasure(p)
	workload, err := workloads.Create(p)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, workload.Close()) }()
	db, err := creator.Create(p)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	client.NewClient(p, workload, client.DbWrapper{DB: db}).Run(ctx)
	measurement.Output()
	return context.Cause(ctx)
}

// parse returns the properties of a command line: those of -p over those of the files.
func parse(args []string) (*properties.Properties, error) {
	flags := flag.NewFlagSet("go-ycsb", flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	p := properties.NewProperties()
	given := properties.NewProperties()
	flags.Func("P", "a `file` of properties", func(file string) error {
		read, err := properties.LoadFile(file, properties.UTF8)
		if err == nil {
			p.Merge(read)
		}
		return err
	})
	flags.Func("p", "a property, `name=value`", func(text string) error {
		name, value, ok := strings.Cut(text, "=")
		if !ok {
			return errors.New("want name=value")
		}
		set(given, name, value)
		return nil
	})
	threads := flags.Int("threads", 1, "worker `goroutines`")
	if err := flags.Parse(args); err != nil {
		return nil, err
	}
	if flags.NArg() > 0 {
		return nil, fmt.Errorf("unexpected argument %q", flags.Arg(0))
	}
	set(p, prop.ThreadCount, strconv.Itoa(*threads))
	p.Merge(given)
	return p, nil
}

// set sets a property. No value refers to another, so there is no error.
func set(p *properties.Properties, name, value string) { _, _, _ = p.Set(name, value) }
