package cluster

import (
	"errors"
	"flag"
	"io"
	"strings"
	"testing"
)

// FuzzArgs: every command line of the launcher, an argument a line, is refused
// in one line or names nodes that may become file names and arguments of ssh.
func FuzzArgs(f *testing.F) {
	for _, line := range []string{
		"", "2\n2\n\n-secs 5", "--nodes\nnode0,node1\n1", "--nodes=-oProxyCommand=x", "--local\n1\n2\n--client-args\n'a b' \"c",
		"help", "--secs=-1", "--secs\n5\n--dry-run\n--out=x", "+1", "1\n2\n3\n4\n5", "--hosts=/dev/null\n--nodes=a",
	} {
		f.Add(line)
	}
	f.Fuzz(func(t *testing.T, text string) {
		c, err := parse(strings.Split(text, "\n"), nil, io.Discard)
		if err != nil {
			if !errors.Is(err, flag.ErrHelp) && strings.Contains(err.Error(), "\n") && !strings.Contains(text, "\n") {
				t.Fatalf("%q: error of several lines: %v", text, err)
			}
			return
		}
		for _, node := range c.Nodes {
			if strings.HasPrefix(node.Name, "-") || strings.ContainsAny(node.Name, "/ \t\n\x00") {
				t.Fatalf("%q is taken for a node's name", node.Name)
			}
		}
		if c.Servers < 0 || c.Clients < 0 || c.Secs < 0 {
			t.Fatalf("%q: %+v", text, c)
		}
	})
}
