package nodes

import (
	"bytes"
	"cmp"
	"context"
	"encoding/xml"
	"fmt"
	"os/exec"
	"regexp"
	"slices"
	"strings"
)

// Testbed is the CloudLab or Emulab experiment that this machine is part of. Its
// fields are paths of programs, or names on PATH.
type Testbed struct {
	Tmcc    string // Emulab's client
	GeniGet string // GENI's client
}

// Nodes asks Emulab first, then GENI. It returns no nodes and no error if the machine
// belongs to no testbed, or to an experiment without a network.
func (t Testbed) Nodes(ctx context.Context) ([]Node, error) {
	ask := []struct {
		program, question string
		parse             func([]byte) ([]Node, error)
	}{
		{t.Tmcc, "hostnames", parseHostnames},
		{t.GeniGet, "manifest", func(answer []byte) ([]Node, error) { return parseManifest(answer, false) }},
	}
	for _, a := range ask {
		path, err := exec.LookPath(a.program)
		if err != nil {
			continue
		}
		nodes, err := askTestbed(ctx, path, a.question, a.parse)
		if err != nil {
			return nil, fmt.Errorf("%s %s: %w (name the nodes with --nodes or --hosts, or use --local)", path, a.question, err)
		}
		if a.program == t.Tmcc && len(nodes) > 1 {
			nodes = t.withoutPseudo(ctx, nodes)
		}
		if len(nodes) > 1 {
			return nodes, nil
		}
	}
	return nil, nil
}

// withoutPseudo leaves out nodes that are no machines. Emulab's client names them like
// machines; the manifest, if there is one, tells them apart.
func (t Testbed) withoutPseudo(ctx context.Context, nodes []Node) []Node {
	answer, err := Ask(ctx, t.GeniGet, "manifest")
	if err != nil {
		return nodes
	}
	m, err := readManifest([]byte(answer))
	return slices.DeleteFunc(nodes, func(node Node) bool {
		return err == nil && slices.ContainsFunc(m.Nodes, func(n manifestNode) bool { return n.ClientID == node.Name && m.pseudo(n) })
	})
}

func askTestbed(ctx context.Context, path, question string, parse func([]byte) ([]Node, error)) ([]Node, error) {
	answer, err := Ask(ctx, path, question)
	if err != nil {
		return nil, err
	}
	nodes, err := parse([]byte(answer))
	if err != nil {
		return nil, err
	}
	for _, node := range nodes {
		if err := CheckName(node.Name); err != nil {
			return nil, err
		}
	}
	slices.SortStableFunc(nodes, func(a, b Node) int { return compareNames(a.Name, b.Name) })
	return slices.CompactFunc(nodes, func(a, b Node) bool { return a.Name == b.Name }), nil
}

// hostnameField matches a NAME=value field of Emulab's answer. The value may be in single
// quotes.
var hostnameField = regexp.MustCompile(`([A-Z]+)=('[^']*'|\S*)`)

// furtherInterface matches the alias of one of a node's interfaces.
var furtherInterface = regexp.MustCompile(`^(.+)-[0-9]+$`)

// parseHostnames reads `tmcc hostnames`: a line for each interface on an
// experiment network, such as
//
//	NAME=node0-lan IP=10.10.1.1 ALIASES='node0-0 node0'
//
// The last alias is the node's plain name, and IP its address there. parseHostnames omits
// a node's further interfaces, whose only alias is like node0-1.
func parseHostnames(answer []byte) ([]Node, error) {
	var nodes []Node
	for line := range strings.Lines(string(answer)) {
		line = strings.TrimSpace(line)
		if line == "" {
			continue
		}
		var node Node
		for _, field := range hostnameField.FindAllStringSubmatch(line, -1) {
			switch value := strings.Trim(field[2], "'"); field[1] {
			case "NAME":
				node.Name = cmp.Or(node.Name, value)
			case "IP":
				node.Addr = value
			case "ALIASES":
				if aliases := strings.Fields(value); len(aliases) > 0 {
					node.Name = aliases[len(aliases)-1]
				}
			}
		}
		if node.Name == "" {
			return nil, fmt.Errorf("line %q has no NAME=", line)
		}
		node.Way = Way{Kind: SSH, To: node.Name}
		nodes = append(nodes, node)
	}
	return slices.DeleteFunc(nodes, func(n Node) bool {
		parts := furtherInterface.FindStringSubmatch(n.Name)
		return parts != nil && slices.ContainsFunc(nodes, func(m Node) bool { return m.Name == parts[1] })
	}), nil
}

// parseManifest reads `geni-get manifest`, a GENI v3 RSpec: each node's client_id, and the
// first stated address of its interfaces on an experiment network. With login, for a manifest
// that a user brings, it also reads how to log in from elsewhere. It leaves out datasets,
// which have nodes in a manifest, and the links to them.
func parseManifest(answer []byte, login bool) ([]Node, error) {
	all, err := readManifest(answer)
	if err != nil {
		return nil, err
	}
	var nodes []Node
	skip := all.ofPseudo()
	for _, n := range all.Nodes {
		if all.pseudo(n) {
			continue
		}
		node := Node{Name: n.ClientID, Way: Way{Kind: SSH, To: n.ClientID}}
		if login && n.Login.Host != "" {
			node.Way.To, node.Way.Port = n.Login.Host, n.Login.Port
			if n.Login.User != "" {
				node.Way.To = n.Login.User + "@" + n.Login.Host
			}
		}
		for _, i := range n.Interfaces {
			for _, ip := range i.IPs {
				if !skip[i.ClientID] {
					node.Addr = cmp.Or(node.Addr, ip.Address)
				}
			}
		}
		if _, _, ok := destination(node.Way.To); !ok {
			return nil, fmt.Errorf("node %s: %q is no host to log in to", n.ClientID, node.Way.To)
		}
		if err := CheckName(node.Name); err != nil {
			return nil, err
		}
		nodes = append(nodes, node)
	}
	return nodes, nil
}

// manifest is the part of an RSpec that is read.
type manifest struct {
	Nodes []manifestNode `xml:"node"`
	Links []struct {
		Interfaces []struct {
			ClientID string `xml:"client_id,attr"`
		} `xml:"interface_ref"`
	} `xml:"link"`
}

type manifestNode struct {
	ClientID string `xml:"client_id,attr"`
	Sliver   struct {
		Name string `xml:"name,attr"`
	} `xml:"sliver_type"`
	Interfaces []struct {
		ClientID string `xml:"client_id,attr"`
		IPs      []struct {
			Address string `xml:"address,attr"`
		} `xml:"ip"`
	} `xml:"interface"`
	Login struct {
		Host string `xml:"hostname,attr"`
		Port string `xml:"port,attr"`
		User string `xml:"username,attr"`
	} `xml:"services>login"`
}

// pseudoSlivers are the types of nodes on which nothing runs: datasets, delays and switches.
var pseudoSlivers = []string{"emulab-blockstore", "delay", "bridge", "switch"}

// pseudo reports whether nothing runs on a node: it has no login although others have one, or
// its type says so.
func (m manifest) pseudo(n manifestNode) bool {
	logins := slices.ContainsFunc(m.Nodes, func(n manifestNode) bool { return n.Login.Host != "" })
	return logins && n.Login.Host == "" || slices.Contains(pseudoSlivers, n.Sliver.Name)
}

// ofPseudo returns the interfaces of the links that lead to a pseudo-node.
func (m manifest) ofPseudo() map[string]bool {
	skip := make(map[string]bool)
	for _, n := range m.Nodes {
		for _, i := range n.Interfaces {
			skip[i.ClientID] = m.pseudo(n)
		}
	}
	for _, l := range m.Links {
		leads := false
		for _, i := range l.Interfaces {
			leads = leads || skip[i.ClientID]
		}
		for _, i := range l.Interfaces {
			skip[i.ClientID] = leads || skip[i.ClientID]
		}
	}
	return skip
}

func readManifest(answer []byte) (m manifest, err error) {
	decoder := xml.NewDecoder(bytes.NewReader(answer))
	if err = decoder.Decode(&m); err != nil {
		err = fmt.Errorf("read the manifest: %w", err)
	}
	return m, err
}

// nameNumber splits a node's name before the number at its end.
var nameNumber = regexp.MustCompile(`^(.*?)0*([0-9]*)$`)

// compareNames orders node2 before node10.
func compareNames(a, b string) int {
	x, y := nameNumber.FindStringSubmatch(a), nameNumber.FindStringSubmatch(b)
	if x[1] != y[1] {
		return cmp.Compare(a, b)
	}
	return cmp.Or(cmp.Compare(len(x[2]), len(y[2])), cmp.Compare(x[2], y[2]), cmp.Compare(a, b))
}
