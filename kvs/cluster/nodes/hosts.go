package nodes

import (
	"fmt"
	"os"
	"regexp"
	"strings"
)

// hostsForm is the form of a line of a --hosts file.
const hostsForm = "name [ssh=user@host[:port]] [addr=DATA-ADDRESS]"

// sshDestination matches [user@]host[:port]. An IPv6 host is in brackets.
var sshDestination = regexp.MustCompile(`^((?:[A-Za-z0-9_][A-Za-z0-9._-]*@)?(?:\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9_][A-Za-z0-9._-]*))(?::([0-9]{1,5}))?$`)

// dataAddressForm matches an IP address or a host name.
var dataAddressForm = regexp.MustCompile(`^[0-9A-Za-z:][0-9A-Za-z:._-]*$`)

// readHostsFile reads the nodes of a --hosts file.
func readHostsFile(path string) ([]Node, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("--hosts: %w", err)
	}
	return parseHosts(string(text), path)
}

// parseHosts reads nodes, one on each line. A # begins a comment. Errors name the file and
// the line.
func parseHosts(text, file string) ([]Node, error) {
	var nodes []Node
	lines := make(map[string]int) // of each name
	number := 0
	for line := range strings.Lines(text) {
		number++
		line, _, _ = strings.Cut(line, "#")
		fields := strings.Fields(line)
		if len(fields) == 0 {
			continue
		}
		node, err := parseHost(fields)
		if err != nil {
			return nil, fmt.Errorf("%s:%d: %w", file, number, err)
		}
		if first, ok := lines[node.Name]; ok {
			return nil, fmt.Errorf("%s:%d: node %s stands in line %d already", file, number, node.Name, first)
		}
		lines[node.Name] = number
		nodes = append(nodes, node)
	}
	if len(nodes) == 0 {
		return nil, fmt.Errorf("%s: no node in it; each line is %s", file, hostsForm)
	}
	return nodes, nil
}

func parseHost(fields []string) (Node, error) {
	node := Node{Name: fields[0], Way: Way{Kind: SSH, To: fields[0]}}
	if err := CheckName(node.Name); err != nil {
		return node, fmt.Errorf("%w; the form is %s", err, hostsForm)
	}
	for _, field := range fields[1:] {
		key, value, _ := strings.Cut(field, "=")
		switch key {
		case "ssh":
			parts := sshDestination.FindStringSubmatch(value)
			if parts == nil {
				return node, fmt.Errorf("ssh=%s: the form is ssh=[user@]host[:port]", value)
			}
			node.Way.To, node.Way.Port = strings.NewReplacer("[", "", "]", "").Replace(parts[1]), parts[2]
		case "addr":
			if !dataAddressForm.MatchString(value) {
				return node, fmt.Errorf("addr=%s: needs an IP address or a host name, without a port", value)
			}
			node.Addr = value
		default:
			return node, fmt.Errorf("unknown %q; the form is %s", field, hostsForm)
		}
	}
	return node, nil
}
