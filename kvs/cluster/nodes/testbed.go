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
		{t.GeniGet, "manifest", parseManifest},
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
		if len(nodes) > 1 {
			return nodes, nil
		}
	}
	return nil, nil
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
// first stated address of its interfaces on an experiment network.
func parseManifest(answer []byte) ([]Node, error) {
	var manifest struct {
		Nodes []struct {
			ClientID   string `xml:"client_id,attr"`
			Interfaces []struct {
				IPs []struct {
					Address string `xml:"address,attr"`
				} `xml:"ip"`
			} `xml:"interface"`
		} `xml:"node"`
	}
	if err := xml.NewDecoder(bytes.NewReader(answer)).Decode(&manifest); err != nil {
		return nil, fmt.Errorf("read the manifest: %w", err)
	}
	var nodes []Node
	for _, n := range manifest.Nodes {
		node := Node{Name: n.ClientID, Way: Way{Kind: SSH, To: n.ClientID}}
		for _, i := range n.Interfaces {
			for _, ip := range i.IPs {
				node.Addr = cmp.Or(node.Addr, ip.Address)
			}
		}
		nodes = append(nodes, node)
	}
	return nodes, nil
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
