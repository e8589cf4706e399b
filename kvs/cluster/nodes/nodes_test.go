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
		{"a port=3\n", "f:1: \"a port=3\": want a ssh=a:3;"},
		{"a color=3\n", `f:1: unknown "color=3"`},
		{"a ssh=\n", "f:1: ssh=: the form is"},
		{"a ssh=-oProxyCommand=sh\n", "f:1: ssh=-oProxyCommand=sh: the form is"},
		{"a ssh=u@h:99999999\n", "f:1: ssh=u@h:99999999"},
		{"a addr=10.0.0.1;rm\n", "f:1: addr=10.0.0.1;rm: needs an IP address"},
		{"a addr=\n", "f:1: addr=: needs"},
		{"node0 slots=8\n", `f:1: "node0 slots=8": want node0; the form is name`},
		{"node0 max_slots=8\n", "f:1: \"node0 max_slots=8\": want node0;"},
		{"a\nnode1:2222\n", `f:2: "node1:2222": want node1 ssh=node1:2222;`},
		{"node[2-3]\n", `f:1: "node[2-3]": want a line for each: node2, ...;`},
		{"node[01,04].lab\n", `f:1: "node[01,04].lab": want a line for each: node01.lab, ...;`},
		{"student1@node4\n", `f:1: "student1@node4": want node4 ssh=student1@node4;`},
		{"student1@node4:22\n", "f:1: \"student1@node4:22\": want node4 ssh=student1@node4:22;"},
		{"10.10.1.5   node5\n", `f:1: "10.10.1.5 node5": want node5 addr=10.10.1.5;`},
		{"[servers]\nnode0\n", `f:1: "[servers]": want one node a line, without the inventory's groups;`},
		{"n1 ansible_host=192.0.2.7 ansible_user=me ansible_port=2222\n", "f:1: \"n1 ansible_host=192.0.2.7 ansible_user=me ansible_port=2222\": want n1 ssh=me@192.0.2.7:2222;"},
		{"n1 ansible_ssh_user=me\n", "f:1: \"n1 ansible_ssh_user=me\": want n1 ssh=me@n1;"},
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

const smallManifest = `<?xml version="1.0"?>
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
		{"manifest", "", "[ $1 = manifest ] && cat <<'END'\n" + smallManifest + "\nEND\n", "node0=10.10.1.1 node1=10.10.1.2"},
		{"tmcc knows nothing", "exit 0", "cat <<'END'\n" + smallManifest + "\nEND\n", "node0=10.10.1.1 node1=10.10.1.2"},
		{"alone", "echo NAME=a IP=10.10.1.1 ALIASES=", "", ""},
		{"tmcc fails", "exit 3", "", "error: hostnames: exit status 3"},
		{"tmcc babbles", "echo hello", "", `error: line "hello" has no NAME=`},
		{"tmcc attacks", "echo NAME=-oProxyCommand=x; echo NAME=a", "", `error: "-oProxyCommand=x" is no node name`},
		{"a dataset", "echo \"NAME=ds-l IP=10.2.0.1 ALIASES='ds-0 ds'\"; cat <<'END'\n" + lan + "END\n", "echo '<rspec><node client_id=\"ds\"><sliver_type name=\"emulab-blockstore\"/></node></rspec>'", "node2=10.10.1.3 node10=10.10.1.11"},
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

// datasets is a manifest with a dataset, to which the first interface of a node leads, a switch
// without a login, and machines that are logged in to elsewhere.
const datasets = "\ufeff" + `<?xml version="1.0" encoding="UTF-8"?>
<rspec xmlns="http://www.geni.net/resources/rspec/3" xmlns:emulab="http://www.protogeni.net/resources/rspec/ext/emulab/1" type="manifest">
  <node client_id="files"><sliver_type name="raw-pc"/>
    <interface client_id="files:if1"><ip address="10.254.254.254"/></interface><interface client_id="files:if0"><ip address="10.10.1.1"/></interface>
    <services><login authentication="ssh-keys" hostname="pc1.example.test" port="22" username="me"/></services></node>
  <node client_id="data"><sliver_type name="emulab-blockstore"/><interface client_id="data:if0"><ip address="10.254.254.253"/></interface></node>
  <node client_id="switch"><sliver_type name="dell-switch"/></node>
  <node client_id="node1"><sliver_type name="emulab-xen"/>
    <interface client_id="node1:if0"><ip address="10.10.1.2"/></interface>
    <services><login authentication="ssh-keys" hostname="pc2.example.test" port="30754" username="me"/></services></node>
  <link client_id="lan"><interface_ref client_id="files:if0"/><interface_ref client_id="node1:if0"/></link>
  <link client_id="dslink"><interface_ref client_id="files:if1"/><interface_ref client_id="data:if0"/></link>
</rspec>`

// A manifest is a file of hosts, of which datasets and switches are none. A byte-order mark and
// CR LF are no part of a name.
func TestHostsFiles(t *testing.T) {
	for text, want := range map[string][]Node{
		datasets: {
			{Name: "files", Way: Way{SSH, "me@pc1.example.test", "22"}, Addr: "10.10.1.1"},
			{Name: "node1", Way: Way{SSH, "me@pc2.example.test", "30754"}, Addr: "10.10.1.2"},
		},
		"\ufeffa addr=10.10.1.1\r\nb addr=10.10.1.2\r\n": {
			{Name: "a", Way: Way{SSH, "a", ""}, Addr: "10.10.1.1"},
			{Name: "b", Way: Way{SSH, "b", ""}, Addr: "10.10.1.2"},
		},
	} {
		path := filepath.Join(t.TempDir(), "hosts")
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if got, err := readHostsFile(path); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%.20q: %+v, %v, want %+v", text, got, err, want)
		}
	}
	for text, want := range map[string]Node{
		"node0": {Name: "node0", Way: Way{SSH, "node0", ""}}, "me@node1": {Name: "node1", Way: Way{SSH, "me@node1", ""}},
		"me@10.0.0.2:2222": {Name: "10.0.0.2", Way: Way{SSH, "me@10.0.0.2", "2222"}}, "node3:22": {Name: "node3", Way: Way{SSH, "node3", "22"}},
	} {
		if got, err := Named(text); err != nil || got != want {
			t.Errorf("%s: %+v, %v, want %+v", text, got, err, want)
		}
	}
}

// Slurm's name of a node and the one that a user types may differ by a domain.
func TestSlurmNames(t *testing.T) {
	job := Slurm{Job: "7", NodeList: "c[1-2].cluster.example.test"}
	have := []Node{{Name: "c1.cluster.example.test", Addr: "10.0.0.1"}, {Name: "c12", Addr: "10.0.0.2"}}
	for name, want := range map[string]string{"c1": "10.0.0.1", "c1.cluster": "10.0.0.1", "c12.cluster.example.test": "10.0.0.2", "c12": "10.0.0.2"} {
		got, err := job.choose(have, []Node{{Name: name, Way: Way{To: name}}})
		if err != nil || len(got) != 1 || got[0].Addr != want {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
	}
	if _, err := job.choose(have, []Node{{Name: "c", Way: Way{To: "c"}}}); err == nil {
		t.Error("c is a node")
	}
}
