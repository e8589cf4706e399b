package main

import (
	"bytes"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

// TestMain runs the tests, or is the program kvsplot of a script.
func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"kvsplot": func() {
		status := kvsplot.Main(os.Args[1:], os.Stdout, os.Stderr)
		if status != 0 {
			fmt.Fprintln(os.Stderr, "exit status", status)
		}
		os.Exit(status)
	}})
}

// TestScripts runs the command lines of testdata/script.
func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir: "testdata/script", RequireUniqueNames: true,
		Cmds: map[string]func(*testscript.TestScript, bool, []string){"refuse": refuse},
	})
}

// refuse fails unless words are refused as a wrong command line, in one line that has the last
// argument in it.
func refuse(ts *testscript.TestScript, _ bool, args []string) {
	words, want := args[:len(args)-1], args[len(args)-1]
	var stdout, stderr bytes.Buffer
	status := kvsplot.Main(words, &stdout, &stderr)
	if said := stderr.String(); status != 2 || stdout.Len() > 0 || strings.Count(said, "\n") != 1 || !strings.Contains(said, want) {
		ts.Fatalf("%q: status %d, %s%s; want one line with %q", words, status, &stdout, said, want)
	}
}
