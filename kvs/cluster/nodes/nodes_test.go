package nodes

import (
	"context"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

func TestParseHosts(t *testing.T) {
	text := `# three machines
node0
node1 ssh=user@10.0.0.2:2222 addr=10.10.1.2   # the second
  big-1.lab	addr=fd00::1 ssh=[fd00::1]:22
`
	want := []Node{
		{Name: "node0", Way: Way{Kind: SSH, To: "node0"}},
		{Name: "node1", Way: Way{SSH, "user@10.0.0.2", "2222"}, Addr: "10.10.1.2"},
		{Name: "big-1.lab", Way: Way{SSH, "fd00::1", "22"}, Addr: "fd00::1"},
	}
	got, err := parseHosts(text, "hosts.txt")
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("parseHosts = %+v, %v; want %+v", got, err, want)
	}
}

func TestParseHostsErrors(t *testing.T) {
	tests := []struct{ text, want string }{
		{"", "f: no node in it"},
		{"a\nb\n\na\n", "f:4: node a stands in line 1 already"},
		{"a\n-x\n", `f:2: "-x" is no node name`},
		{"a b\n", `f:1: unknown "b"; the form is name`},
		{"a port=3\n", `f:1: unknown "port=3"`},
		{"a ssh=\n", "f:1: ssh=: the form is"},
		{"a ssh=-oProxyCommand=sh\n", "f:1: ssh=-oProxyCommand=sh: the form is"},
		{"a ssh=u@h:99999999\n", "f:1: ssh=u@h:99999999"},
		{"a addr=10.0.0.1;rm\n", "f:1: addr=10.0.0.1;rm: needs an IP address"},
		{"a addr=\n", "f:1: addr=: needs"},
	}
	for _, test := range tests {
		_, err := parseHosts(test.text, "f")
		if err == nil || !strings.HasPrefix(err.Error(), test.want) {
			t.Errorf("parseHosts(%q): error %v, want %q", test.text, err, test.want)
		}
	}
}

// script writes an executable shell script.
func script(t *testing.T, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte("#!/bin/sh\n"+text), 0o755); err != nil {
		t.Fatal(err)
	}
	return path
}

const manifest = `<?xml version="1.0"?>
<rspec xmlns="http://www.geni.net/resources/rspec/3" xmlns:emulab="http://www.protogeni.net/resources/rspec/ext/emulab/1">
 <node client_id="node1" exclusive="true">
  <interface client_id="node1:if0"><ip address="10.10.1.2" type="ipv4" netmask="255.255.255.0"/></interface>
  <host name="node1.exp.proj.utah.cloudlab.us" ipv4="128.110.1.2"/>
 </node>
 <node client_id="node0"><interface client_id="node0:if0"><ip address="10.10.1.1"/></interface></node>
 <link client_id="lan"><interface_ref client_id="node0:if0"/></link>
</rspec>`

func TestTestbed(t *testing.T) {
	const none = "/nonexistent/program"
	lan := "NAME=node10-lan IP=10.10.1.11 ALIASES='node10-0 node10'\nNAME=node2-lan IP=10.10.1.3 ALIASES='node2-0 node2'\n"
	tests := []struct {
		name, tmcc, geni string // scripts; "" for none
		want             string
	}{
		{"no testbed", "", "", ""},
		{"tmcc", "[ $1 = hostnames ] && cat <<'END'\n" + lan + "END\n", "exit 1", "node2=10.10.1.3 node10=10.10.1.11"},
		{"two networks", "cat <<'END'\n" + lan + "NAME=node2-b IP=10.10.2.3 ALIASES='node2-1'\nEND\n", "", "node2=10.10.1.3 node10=10.10.1.11"},
		{"plain names", "echo NAME=b; echo NAME=a", "", "a= b="},
		{"manifest", "", "[ $1 = manifest ] && cat <<'END'\n" + manifest + "\nEND\n", "node0=10.10.1.1 node1=10.10.1.2"},
		{"tmcc knows nothing", "exit 0", "cat <<'END'\n" + manifest + "\nEND\n", "node0=10.10.1.1 node1=10.10.1.2"},
		{"alone", "echo NAME=a IP=10.10.1.1 ALIASES=", "", ""},
		{"tmcc fails", "exit 3", "", "error: hostnames: exit status 3"},
		{"tmcc babbles", "echo hello", "", `error: line "hello" has no NAME=`},
		{"tmcc attacks", "echo NAME=-oProxyCommand=x; echo NAME=a", "", `error: "-oProxyCommand=x" is no node name`},
		{"broken manifest", "", "echo '<rspec><node'", "error: read the manifest"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			bed := Testbed{Tmcc: none, GeniGet: none}
			if test.tmcc != "" {
				bed.Tmcc = script(t, "tmcc", test.tmcc)
			}
			if test.geni != "" {
				bed.GeniGet = script(t, "geni-get", test.geni)
			}
			nodes, err := bed.Nodes(context.Background())
			if want, isError := strings.CutPrefix(test.want, "error: "); isError {
				if err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "--nodes") {
					t.Fatalf("error %v, want %q and what to do", err, want)
				}
				return
			}
			var got []string
			for _, n := range nodes {
				got = append(got, n.Name+"="+n.Addr)
			}
			if err != nil || strings.Join(got, " ") != test.want {
				t.Errorf("nodes %q, %v; want %q", got, err, test.want)
			}
		})
	}
}

func TestDataAddress(t *testing.T) {
	ctx := context.Background()
	if _, err := (Node{Name: "localhost"}).DataAddress(ctx); err == nil || !strings.Contains(err.Error(), "addr=") || !strings.HasPrefix(err.Error(), "node localhost: ") {
		t.Errorf("localhost: error %v, want one that names the node and addr=", err)
	}
	if _, err := (Node{Name: "no-such-node.invalid"}).DataAddress(ctx); err == nil || !strings.Contains(err.Error(), "addr=") || !strings.HasPrefix(err.Error(), "node no-such-node.invalid: ") {
		t.Errorf("unknown name: error %v, want one that names the node and addr=", err)
	}
	if addr, err := (Node{Name: "x", Addr: "127.0.0.2"}).DataAddress(ctx); err != nil || addr.String() != "127.0.0.2" {
		t.Errorf("a stated loopback address: %v, %v", addr, err)
	}
}
