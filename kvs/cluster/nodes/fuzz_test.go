package nodes

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"
)

// FuzzHosts: a hosts file is refused by file and line, or read the same from
// what it says written plainly.
func FuzzHosts(f *testing.F) {
	for _, text := range []string{
		"node0\nnode1 ssh=user@10.0.0.1:2222 addr=10.10.1.2 # the second\n", "a ssh=[::1]:22 addr=::1", "a\na", "-a", "a ssh=-oX", "a addr=", "\x00", "a b=c",
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		nodes, err := parseHosts(text, "f")
		if err != nil {
			if !strings.Contains(err.Error(), "f") || len(nodes) > 0 {
				t.Fatalf("error %v with %d nodes", err, len(nodes))
			}
			return
		}
		var plain bytes.Buffer
		for _, n := range nodes {
			if strings.HasPrefix(n.Way.To, "-") || strings.HasPrefix(n.Name, "-") {
				t.Fatalf("%+v would be an option of ssh", n)
			}
			fmt.Fprintf(&plain, "%s ssh=%s", n.Name, bracketed(n.Way.To))
			if n.Way.Port != "" {
				fmt.Fprintf(&plain, ":%s", n.Way.Port)
			}
			if n.Addr != "" {
				fmt.Fprintf(&plain, " addr=%s", n.Addr)
			}
			fmt.Fprintln(&plain)
		}
		again, err := parseHosts(plain.String(), "f")
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
				if n.Name == "" || n.Way.To != n.Name {
					t.Fatalf("%+v", n)
				}
			}
		}
		if nodes, err := parseManifest(answer, false); err == nil {
			for _, n := range nodes {
				if n.Way.To != n.Name {
					t.Fatalf("%+v", n)
				}
			}
		}
	})
}
