// Package trace compiles recorded traces of key-value stores for a replay: those of Twitter and
// Meta, libCacheSim's, what Redis's MONITOR prints, and lists of keys.
package trace

import (
	"fmt"
	"io"
	"os"
	"strings"

	"kvlab/metrics/format"
	"kvlab/plots/command"
	"kvlab/workload/trace"
)

// Command compiles traces, and describes compiled ones.
var Command = command.Command{
	Name:     "trace",
	Synopsis: []string{"trace import -format FORMAT FILE|- -o t.kvt", "trace info t.kvt [...]"},
	Usage: `trace: compiles a recorded trace into a file that kvsclient -replay runs, and says what is
in such a file. FORMAT is twitter, meta, oracle (libCacheSim's oracleGeneral), monitor
(Redis's MONITOR) or txt (one key per line). FILE may be compressed (gzip, zstd).
`,
	Run: run,
}

func run(c *command.Call) error {
	name := c.Flags.String("format", "", "import: the `format` of the input: "+strings.Join(formatNames(), ", "))
	out := c.Flags.String("o", "", "import: the compiled `file`, such as t.kvt")
	size := c.Flags.Int("value-size", 128, "import: `bytes` of a value whose size the input does not tell (monitor's reads, txt)")
	putOnly := c.Flags.Bool("put-only", false, "import: compile cas, incr and decr as writes, for a store without read-modify-writes, such as memcached")
	noDeletes := c.Flags.Bool("no-deletes", false, "import: leave deletes out, for a store without them: their keys keep their values")
	texts := c.Flags.Bool("keys", false, "import: keep the keys themselves, for -trace-keys original; the file then has 8 bytes and the key more for each")
	words, err := c.Words()
	if err != nil {
		return err
	}
	verb := ""
	if len(words) > 0 {
		verb, words = words[0], words[1:]
	}
	switch {
	case verb == "info" && len(words) > 0:
		return info(c.Stdout, words)
	case verb != "import" || len(words) != 1:
		return command.Wrong("trace %s: want kvsplot trace import -format FORMAT FILE|- -o t.kvt, or kvsplot trace info t.kvt", verb)
	case *out == "":
		return command.Wrong("trace import: want -o and a file for the result, such as -o t.kvt")
	case *size < trace.LeastValue || *size > trace.MostValue:
		return command.Wrong("-value-size %d: want %d to %d bytes", *size, trace.LeastValue, trace.MostValue)
	}
	if _, ok := formats[*name]; !ok {
		return command.Wrong("-format %q: want %s", *name, strings.Join(formatNames(), ", "))
	}
	if *texts && *name == "oracle" {
		return command.Wrong("-keys: the format oracle has numbers in place of keys: want another format, or no -keys")
	}
	if err := trace.CheckReplaceable(*out); err != nil {
		return command.Wrong("-o %w", err)
	}
	input := os.Stdin
	if words[0] == "-" {
		words[0] = "standard input"
	} else if input, err = os.Open(words[0]); err != nil {
		return command.Wrong("%w", err)
	}
	defer input.Close()
	head, cut, err := compile(input, words[0], *name, *out, reader{size: *size, putOnly: *putOnly, noDeletes: *noDeletes, texts: *texts})
	if err != nil {
		return err
	}
	if cut != "" {
		fmt.Fprintln(c.Stderr, "kvsplot: "+cut)
	}
	skipped := ""
	if len(head.Skipped) > 0 {
		skipped = "; left out: " + counts(head.Skipped, 0)
	}
	fmt.Fprintf(c.Stdout, "%s: %s operations on %s keys%s\n", *out, format.Count(float64(head.Ops)), format.Count(float64(head.Keys)), skipped)
	return nil
}

// info describes compiled traces.
func info(w io.Writer, paths []string) error {
	for _, path := range paths {
		t, err := trace.Open(path)
		if err != nil {
			return command.Wrong("%w", err)
		}
		fmt.Fprint(w, describe(t))
	}
	return nil
}
