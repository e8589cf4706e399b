package client

import (
	"errors"
	"flag"
	"reflect"
	"strings"
	"testing"

	"kvlab/kvs/node"
)

// FuzzArgs: every command line, an argument a line, is refused in one line, or
// is one whose flags' final values say the same once more.
func FuzzArgs(f *testing.F) {
	f.Add("")
	f.Add("-workload\nmix\n-reads=0.5")
	f.Add("-batch\nauto\n-target-latency=300us\n-connections=1")
	f.Add("-distribution=hotspot\n-hot-ops=0.9\n-hot-keys\n0.1\n-secs=1e-9\n-warmup=2m")
	f.Add("-hosts=a:1,b:2,[::1]:3\n-router=balanced\n-theta\n1.2\n-verify=full")
	f.Add("-records=18446744073709551615\n-value-size=-1\n-inflight=9999999999")
	f.Add("-batchSize\n8\n--\n-x")
	f.Fuzz(func(t *testing.T, text string) {
		var args []string
		if text != "" {
			args = strings.Split(text, "\n")
		}
		c, flags, err := parse(args)
		if err != nil {
			var usage node.UsageError
			if errors.As(err, &usage) && strings.Contains(err.Error(), "\n") {
				t.Fatalf("%q: error of several lines: %v", args, err)
			}
			return
		}
		again, _, err := parse(given(flags.FlagSet))
		if err != nil || !reflect.DeepEqual(again, c) {
			t.Fatalf("%q is %+v, and its values are %+v (%v)", args, c, again, err)
		}
	})
}

// given writes the flags that were set as a command line.
func given(flags *flag.FlagSet) []string {
	var args []string
	flags.Visit(func(f *flag.Flag) { args = append(args, "-"+f.Name+"="+f.Value.String()) })
	return args
}
