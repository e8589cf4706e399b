// Package contain runs submitted programs behind walls: limits of memory, processes and
// files, and a view of the machine that lacks the rest of it.
//
// Three processes work on a containment, all of the same program:
//
//	kvscluster -contain   outside: makes the cgroups, passes signals and the exit status on
//	  init                pid 1 inside: makes the mounts, gives up every right, reaps
//	    the program       with a user of its own
//
// The program sees the system's programs and libraries, itself, and folders in memory that
// are empty at first: /tmp, /dev/shm and the working directory. When the first process ends,
// for any reason, the program ends, and so does everything that it has started: the kernel
// kills a pid namespace with its pid 1 (pid_namespaces(7)). A guard removes the cgroups.
//
// Without root a user namespace has the same walls, except for the limits of cgroups and the
// user. Where the kernel refuses that too, only Landlock and rlimits hold. findWalls says
// which walls hold.
package contain

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"kvlab/kvs/cluster/plan"
	"kvlab/kvs/node"
	"kvlab/metrics/format"
)

// Flag is the launcher's --contain.
var Flag = plan.ContainFlag{
	Usage: "contain the servers' programs, or those that --target starts and builds, within `limits` such as " + form + ": what holds where is in docs/cluster.md; this machine's processes get a network of their own",
	Parse: func(text string) (plan.Wrapper, error) {
		l, err := parseLimits(text)
		if err != nil {
			return nil, err
		}
		return l, nil
	},
}

// Command implements plan.Wrapper.
func (l Limits) Command(launcher string, isNode bool, write []string, words ...string) []string {
	return box{Limits: l, Node: isNode, Write: write}.command(launcher, words...)
}

// Build implements plan.Wrapper. The limits are no less than a compiler needs, and a build runs
// on all processors.
func (l Limits) Build(launcher string, read, over []string, words ...string) []string {
	l.Memory, l.Processes, l.Disk, l.Files, l.Cores = max(l.Memory, 4e9), max(l.Processes, 2048), max(l.Disk, 4e9), 0, ""
	return box{Limits: l, Alone: true, Read: read, Over: over}.command(launcher, words...)
}

// Walls implements plan.Wrapper.
func (l Limits) Walls(launcher string) []string {
	return []string{launcher, node.ContainFlag, l.String()}
}

// box says what a contained program sees and may do.
type box struct {
	Limits Limits
	Node   bool     // it is a node's program: announce this process, and end when its pipe closes
	Alone  bool     // it has a network without interfaces, instead of this process's
	Read   []string // further files and folders that it sees
	Write  []string // further folders that it has, empty at first
	Over   []string // further folders that it sees; they and their subfolders take files of its own
}

// command returns the command line that contains another one.
func (b box) command(launcher string, words ...string) []string {
	line := b.Limits.Walls(launcher)
	if b.Node {
		line = append(line, "-node")
	}
	if b.Alone {
		line = append(line, "-alone")
	}
	for _, path := range b.Read {
		line = append(line, "-read", path)
	}
	for _, path := range b.Write {
		line = append(line, "-write", path)
	}
	for _, path := range b.Over {
		line = append(line, "-over", path)
	}
	return slices.Concat(line, []string{"--"}, words)
}

// The exit statuses of a containment that fails itself, as env(1) has them.
const (
	exitUsage  = 2
	exitFailed = 125
)

// Main does the work of a containment's processes, and returns their exit status. In any
// other process it returns ok false at once:
//
//	kvscluster -contain LIMITS               prints the walls that hold here as JSON
//	kvscluster -contain LIMITS -- CMD ARGS   runs a program behind them
func Main() (status int, ok bool) {
	args := os.Args[1:]
	switch {
	case os.Args[0] == node.ContainInit:
		runInit() // does not return
	case len(args) == 2 && args[0] == node.ContainFlag || len(args) > 2 && args[0] == node.ContainFlag && slices.Contains(args, "--"):
		return execute(args[1], args[2:], os.Stdout, os.Stderr), true
	}
	return 0, false
}

// execute executes a command line of Main, and returns the exit status.
func execute(limits string, args []string, stdout, stderr io.Writer) int {
	fail := func(status int, err error) int {
		fmt.Fprintf(stderr, "kvscluster %s: %v\n", node.ContainFlag, err)
		return status
	}
	l, err := parseLimits(limits)
	if err != nil {
		return fail(exitUsage, err)
	}
	if len(args) == 0 {
		walls, err := findWalls(l)
		if err == nil {
			err = json.NewEncoder(stdout).Encode(walls)
		}
		if err != nil {
			return fail(exitFailed, err)
		}
		return 0
	}
	b := box{Limits: l}
	fs := flag.NewFlagSet("kvscluster "+node.ContainFlag, flag.ContinueOnError)
	fs.SetOutput(io.Discard)
	list := func(paths *[]string) func(string) error {
		return func(path string) error { *paths = append(*paths, path); return nil }
	}
	fs.BoolVar(&b.Node, "node", false, "")
	fs.BoolVar(&b.Alone, "alone", false, "")
	fs.Func("read", "", list(&b.Read))
	fs.Func("write", "", list(&b.Write))
	fs.Func("over", "", list(&b.Over))
	i := slices.Index(args, "--")
	err = fs.Parse(args[:i])
	if err == nil && fs.NArg() > 0 || err == nil && i+1 == len(args) {
		err = errors.New("want -contain LIMITS [-node] [-alone] [-read PATH] [-write FOLDER] [-over FOLDER] -- COMMAND")
	}
	if err != nil {
		return fail(exitUsage, errors.New(format.OneLine(strings.TrimSpace(err.Error()))))
	}
	outcome, err := b.run(args[i+1:], os.Stdin, os.Stdout, os.Stderr)
	if err != nil {
		return fail(exitFailed, err)
	}
	return outcome.exit(l, stderr)
}
