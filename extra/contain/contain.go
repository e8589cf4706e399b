// Package contain runs programs of strangers behind walls: limits of memory, processes and
// files, and a view of the machine in which the rest of it does not exist.
//
// Three processes stand around a program, all of them this one:
//
//	kvscluster -contain   outside: makes the cgroups, passes signals and the exit status on
//	  init                pid 1 inside: makes the mounts, gives up every right, reaps
//	    the program       with a user of its own
//
// The program sees the system's programs and libraries, itself, and folders in memory that
// are empty at first: /tmp, /dev/shm and the working directory. It ends with the first
// process, however that ends, and so does everything that it has started: the kernel kills
// a pid namespace with its pid 1 (pid_namespaces(7)). A guard removes the cgroups.
//
// Without root a user namespace has the same walls, but for the limits of cgroups and the
// user. Where the kernel refuses that too, there are only Landlock and rlimits. Walls says
// which of the walls hold.
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

	"kvlab/kvs/node"
	"kvlab/metrics/format"
)

// Box is how a program is contained.
type Box struct {
	Limits Limits
	Node   bool     // it is a node's program: announce this process, and end when its pipe closes
	Alone  bool     // it has a network without interfaces, instead of this process's
	Read   []string // further files and folders that it sees
	Write  []string // further folders that it has, empty at first
	Over   []string // further folders that it sees; it and their subfolders take files of its own
}

// Command returns the command line that contains another one. program is the path of
// kvscluster.
func (b Box) Command(program string, words ...string) []string {
	line := []string{program, node.ContainFlag, b.Limits.String()}
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

// The exit statuses of a containment that fails itself, as of env(1).
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
		return command(args[1], args[2:], os.Stdout, os.Stderr), true
	}
	return 0, false
}

// command executes a command line of Main.
func command(limits string, args []string, stdout, stderr io.Writer) int {
	fail := func(status int, err error) int {
		fmt.Fprintf(stderr, "kvscluster %s: %v\n", node.ContainFlag, err)
		return status
	}
	var box Box
	if err := box.Limits.Set(limits); err != nil {
		return fail(exitUsage, err)
	}
	if len(args) == 0 {
		walls, err := Walls(box.Limits)
		if err == nil {
			err = json.NewEncoder(stdout).Encode(walls)
		}
		if err != nil {
			return fail(exitFailed, err)
		}
		return 0
	}
	fs := flag.NewFlagSet("kvscluster "+node.ContainFlag, flag.ContinueOnError)
	fs.SetOutput(io.Discard)
	list := func(paths *[]string) func(string) error {
		return func(path string) error { *paths = append(*paths, path); return nil }
	}
	fs.BoolVar(&box.Node, "node", false, "")
	fs.BoolVar(&box.Alone, "alone", false, "")
	fs.Func("read", "", list(&box.Read))
	fs.Func("write", "", list(&box.Write))
	fs.Func("over", "", list(&box.Over))
	i := slices.Index(args, "--")
	err := fs.Parse(args[:i])
	if err == nil && fs.NArg() > 0 || err == nil && i+1 == len(args) {
		err = errors.New("want -contain LIMITS [-node] [-alone] [-read PATH] [-write FOLDER] [-over FOLDER] -- COMMAND")
	}
	if err != nil {
		return fail(exitUsage, errors.New(format.OneLine(strings.TrimSpace(err.Error()))))
	}
	outcome, err := box.run(args[i+1:], os.Stdin, os.Stdout, os.Stderr)
	if err != nil {
		return fail(exitFailed, err)
	}
	return outcome.exit(box.Limits, stderr)
}
