package nodes

import (
	"cmp"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"regexp"
	"strings"
)

// hostsForm is the form of a line of a --hosts file.
const hostsForm = "name [ssh=user@host[:port]] [addr=DATA-ADDRESS]"

// sshDestination matches [user@]host[:port]. An IPv6 host is in brackets.
var sshDestination = regexp.MustCompile(`^((?:[A-Za-z0-9_][A-Za-z0-9._-]*@)?(?:\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9_][A-Za-z0-9._-]*))(?::([0-9]{1,5}))?$`)

// destination splits [user@]host[:port].
func destination(text string) (to, port string, ok bool) {
	parts := sshDestination.FindStringSubmatch(text)
	if parts == nil {
		return "", "", false
	}
	return strings.NewReplacer("[", "", "]", "").Replace(parts[1]), parts[2], true
}

// dataAddressForm matches an IP address or a host name.
var dataAddressForm = regexp.MustCompile(`^[0-9A-Za-z:][0-9A-Za-z:._-]*$`)

// readHostsFile reads the nodes of a --hosts file.
func readHostsFile(path string) ([]Node, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("--hosts: %w", err)
	}
	plain := strings.TrimPrefix(string(text), "\ufeff") // a byte-order mark
	if strings.HasPrefix(strings.TrimSpace(plain), "<") {
		found, err := parseManifest([]byte(plain), true)
		if err == nil && len(found) == 0 {
			err = errors.New("no node in it")
		}
		if err != nil {
			err = fmt.Errorf("%s: %w", path, err)
		}
		return found, err
	}
	return parseHosts(plain, path)
}

// parseHosts reads nodes, one on each line. A # begins a comment. Errors name the file and
// the line.
func parseHosts(text, file string) ([]Node, error) {
	var nodes []Node
	lines := make(map[string]int) // the line of each name
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

// rightForm translates a line in another tool's form; it returns "" if it knows no such form.
// It knows Ansible's inventories, MPI's and Slurm's host lists, /etc/hosts, and ssh's own.
func rightForm(fields []string) string {
	first, rest := fields[0], fields[1:]
	user, port, to := "", "", ""
	for _, field := range rest {
		name, value, _ := strings.Cut(field, "=")
		switch strings.TrimPrefix(name, "ansible_ssh_") {
		case "ansible_user", "user":
			user = value + "@"
		case "ansible_port", "port":
			port = ":" + value
		case "ansible_host", "host":
			to = value
		}
	}
	_, notAddress := netip.ParseAddr(first)
	brackets := nodeRange.FindStringSubmatch(first)
	parts := sshDestination.FindStringSubmatch(first)
	switch {
	case strings.HasPrefix(first, "[") && strings.HasSuffix(first, "]"):
		return "one node a line, without the inventory's groups"
	case brackets != nil:
		return fmt.Sprintf("a line for each: %s%s%s, ...", brackets[1], brackets[2], brackets[3])
	case user+port+to != "":
		return first + " ssh=" + user + cmp.Or(to, first) + port
	case notAddress == nil && len(rest) > 0 && validName.MatchString(rest[0]):
		return rest[0] + " addr=" + first
	case parts != nil && (strings.Contains(first, "@") || parts[2] != ""):
		_, host, ok := strings.Cut(parts[1], "@")
		if !ok {
			host = parts[1]
		}
		return host + " ssh=" + first
	case len(rest) > 0 && slotsField.MatchString(rest[0]):
		return first
	}
	return ""
}

var (
	nodeRange  = regexp.MustCompile(`^([A-Za-z0-9._-]*)\[([0-9]+)[-,:][0-9,:-]*\](.*)$`) // node[2-3]
	slotsField = regexp.MustCompile(`^(max[-_])?slots=`)
)

func parseHost(fields []string) (Node, error) {
	node := Node{Name: fields[0], Way: Way{Kind: SSH, To: fields[0]}}
	if right := rightForm(fields); right != "" {
		return node, fmt.Errorf("%q: want %s; the form is %s", strings.Join(fields, " "), right, hostsForm)
	}
	if err := CheckName(node.Name); err != nil {
		return node, fmt.Errorf("%w; the form is %s", err, hostsForm)
	}
	for _, field := range fields[1:] {
		key, value, _ := strings.Cut(field, "=")
		switch key {
		case "ssh":
			var ok bool
			if node.Way.To, node.Way.Port, ok = destination(value); !ok {
				return node, fmt.Errorf("ssh=%s: the form is ssh=[user@]host[:port]", value)
			}
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
