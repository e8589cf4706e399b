package cluster

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"io"
	"slices"
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
		c, err := ParseArgs(strings.Split(text, "\n"), "logs", io.Discard)
		if err != nil {
			if !errors.Is(err, flag.ErrHelp) && strings.Contains(err.Error(), "\n") && !strings.Contains(text, "\n") {
				t.Fatalf("%q: error of several lines: %v", text, err)
			}
			return
		}
		for _, name := range c.Nodes {
			if strings.HasPrefix(name, "-") || strings.ContainsAny(name, "/ \t\n\x00") {
				t.Fatalf("%q is taken for a node's name", name)
			}
		}
		if c.Servers < 0 || c.Clients < 0 || c.Secs < 0 {
			t.Fatalf("%q: %+v", text, c)
		}
	})
}

// FuzzHosts: a hosts file is refused by file and line, or read the same from
// what it says written plainly.
func FuzzHosts(f *testing.F) {
	for _, text := range []string{
		"node0\nnode1 ssh=user@10.0.0.1:2222 addr=10.10.1.2 # the second\n", "a ssh=[::1]:22 addr=::1", "a\na", "-a", "a ssh=-oX", "a addr=", "\x00", "a b=c",
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		nodes, err := parseHosts(strings.NewReader(text), "f")
		if err != nil {
			if !strings.Contains(err.Error(), "f") || len(nodes) > 0 {
				t.Fatalf("error %v with %d nodes", err, len(nodes))
			}
			return
		}
		var plain bytes.Buffer
		for _, n := range nodes {
			if strings.HasPrefix(n.SSH, "-") || strings.HasPrefix(n.Name, "-") {
				t.Fatalf("%+v would be an option of ssh", n)
			}
			fmt.Fprintf(&plain, "%s ssh=%s", n.Name, bracketed(n.SSH))
			if n.Port != "" {
				fmt.Fprintf(&plain, ":%s", n.Port)
			}
			if n.Addr != "" {
				fmt.Fprintf(&plain, " addr=%s", n.Addr)
			}
			fmt.Fprintln(&plain)
		}
		again, err := parseHosts(&plain, "f")
		if err != nil || !slices.Equal(again, nodes) {
			t.Fatalf("%+v become %+v (%v)", nodes, again, err)
		}
	})
}

// bracketed writes an IPv6 host as a hosts file has it.
func bracketed(ssh string) string {
	user, host, ok := strings.Cut(ssh, "@")
	if !ok {
		user, host = "", ssh
	} else {
		user += "@"
	}
	if strings.Contains(host, ":") && !strings.HasPrefix(host, "[") {
		host = "[" + host + "]"
	}
	return user + host
}

// FuzzTestbed: no answer of a testbed's programs makes their readers panic, and
// no two nodes of one have the same name and the same address.
func FuzzTestbed(f *testing.F) {
	f.Add([]byte("NAME=node0-lan IP=10.10.1.1 ALIASES='node0-0 node0'\nNAME=node1 IP=10.10.1.2\n"))
	f.Add([]byte(`<rspec><node client_id="node0"><interface><ip address="10.10.1.1"/></interface></node></rspec>`))
	f.Add([]byte("<rspec><node"))
	f.Fuzz(func(t *testing.T, answer []byte) {
		if nodes, err := parseHostnames(answer); err == nil {
			for _, n := range nodes {
				if n.Name == "" || n.SSH != n.Name {
					t.Fatalf("%+v", n)
				}
			}
		}
		if nodes, err := parseManifest(answer); err == nil {
			for _, n := range nodes {
				if n.SSH != n.Name {
					t.Fatalf("%+v", n)
				}
			}
		}
	})
}
