// Package plan assigns programs and their arguments to machines.
package plan

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"kvlab/kvs/cluster/nodes"
	"kvlab/metrics"
	"kvlab/metrics/format"
)

// ServerPort is the first server's port on each data address, as in the labs. Further
// servers on the same address get the following ports.
const ServerPort = 8080

// Plan assigns roles to nodes. Servers come first, because node0 is the labs' first
// server.
type Plan struct {
	Spec                           // without unknown numbers
	Local  bool                    // processes on this machine
	Places []Place                 // servers first
	Cores  map[metrics.Role]string // as ServerCores and ClientCores
}

// Place is one process: a node in a role. A node may have several places.
type Place struct {
	nodes.Node
	Name   string // of the process: the node's, with a number if the role has several there
	Role   metrics.Role
	Data   string // data address, without a port
	Listen string // a server's host:port; port 0 is any free one
}

// Program returns the name of the role's program.
func (p Place) Program() string { return Program(p.Role) }

func Program(role metrics.Role) string { return "kvs" + string(role) }

// Make assigns roles to nodes. No nodes means processes on this machine.
func Make(ctx context.Context, spec Spec, found []nodes.Node) (Plan, error) {
	spec, err := spec.fill(len(found))
	plan := Plan{Spec: spec, Local: len(found) == 0, Cores: map[metrics.Role]string{metrics.Server: spec.ServerCores, metrics.Client: spec.ClientCores}}
	if err != nil {
		return plan, err
	}
	if window := spec.window(); window > 0 {
		plan.ClientArgs = slices.Concat(spec.ClientArgs, []string{"-secs", strconv.FormatFloat(window.Seconds(), 'f', -1, 64)})
	}
	for i := len(found); plan.Local && i < spec.nodes(); i++ {
		found = append(found, nodes.Node{Name: fmt.Sprintf("node%d", i), Addr: "127.0.0.1"})
	}
	used := make(map[netip.Addr]int)           // servers on each address
	holders := make(map[netip.Addr]nodes.Node) // of each address
	for _, seats := range []struct {
		role                  metrics.Role
		first, count, perNode int
	}{
		{metrics.Server, 0, spec.Servers, spec.ServersPerNode},
		{metrics.Client, spec.nodes() - spec.loading(), spec.Clients, spec.ClientsPerNode},
	} {
		for i := range seats.count {
			node := found[seats.first+i/seats.perNode]
			addr, err := node.DataAddress(ctx)
			if err != nil {
				return plan, err
			}
			if other, ok := holders[addr]; ok && other.Name != node.Name && !plan.Local {
				return plan, fmt.Errorf("nodes %s and %s have one data address, %s: each needs its own on the network between them, as addr= in a --hosts file", other.Name, node.Name, addr)
			}
			holders[addr] = node
			place := Place{Node: node, Name: node.Name, Role: seats.role, Data: addr.String()}
			if seats.perNode > 1 {
				place.Name += fmt.Sprintf("-%d", i%seats.perNode)
			}
			if seats.role == metrics.Server {
				place.Listen = netip.AddrPortFrom(addr, plan.port(used[addr])).String()
				used[addr]++
			}
			plan.Places = append(plan.Places, place)
		}
	}
	return plan, plan.checkNames()
}

// port returns the port of the n-th server on an address. It is 0, any free port, on
// this machine, where other runs may be under way.
func (p Plan) port(n int) uint16 {
	if p.Local {
		return 0
	}
	return uint16(ServerPort + n)
}

// checkNames rejects two servers or two clients of one name: the name of a node's second
// server may be the name of another node.
func (p Plan) checkNames() error {
	seen := make(map[string]bool)
	for _, place := range p.Places {
		if file := place.Program() + "-" + place.Name; seen[file] {
			return fmt.Errorf("two %ss would be called %s: give the nodes names that do not end in a dash and a number", place.Role, place.Name)
		} else {
			seen[file] = true
		}
	}
	return nil
}

// Count returns the number of places with a role.
func (p Plan) Count(role metrics.Role) int {
	n := 0
	for _, place := range p.Places {
		if place.Role == role {
			n++
		}
	}
	return n
}

// Args returns the arguments of a place's program. hosts are the servers' addresses;
// index is the place's number among those of its role.
func (p Plan) Args(place Place, index int, hosts []string) []string {
	if place.Role == metrics.Server {
		return append([]string{
			"-node", place.Name, "-listen", place.Listen,
			"-server", strconv.Itoa(index), "-servers", strconv.Itoa(p.Count(metrics.Server)),
		}, p.ServerArgs...)
	}
	own := []string{
		"-node", place.Name, "-hosts", strings.Join(hosts, ","),
		"-client", strconv.Itoa(index), "-clients", strconv.Itoa(p.Count(metrics.Client)),
	}
	return append(own, p.ClientArgs...)
}

// Print writes the plan for --dry-run.
func (p Plan) Print(w io.Writer) error {
	var b strings.Builder
	fmt.Fprintf(&b, "%s, %s\n", format.Plural(p.Count(metrics.Server), "server"), format.Plural(p.Count(metrics.Client), "client"))
	if p.Symmetric {
		b.WriteString("symmetric: every node serves and loads\n")
	}
	var hosts []string
	index := make(map[metrics.Role]int)
	for _, place := range p.Places {
		if place.Role == metrics.Server {
			hosts = append(hosts, place.Listen)
		}
		fmt.Fprintf(&b, "\n%s: %s\n  %s", place.Name, p.describe(place), place.Program())
		for _, arg := range p.Args(place, index[place.Role], hosts) {
			b.WriteString(" " + format.QuoteWord(arg))
		}
		b.WriteByte('\n')
		index[place.Role]++
	}
	if p.RestartAt > 0 {
		fmt.Fprintf(&b, "\n%s is killed %s into the window, and started again with -reopen\n", p.Places[0].Name, p.RestartAt)
	}
	if p.Local {
		b.WriteString("\nport 0 is any free port; the clients get the real ones\n")
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// describe describes a place in one line.
func (p Plan) describe(place Place) string {
	text := fmt.Sprintf("%s at %s, %s", place.Role, cmp.Or(place.Listen, place.Data), place.Way)
	if cores := p.Cores[place.Role]; cores != "" {
		text += ", on cores " + cores
	}
	if place.Role == metrics.Server && p.Contain != nil {
		text += ", contained: " + p.Contain.String()
	}
	return text
}

// OffsetPorts gives the plan's servers ports that the servers of another, concurrent
// plan do not use.
func (p Plan) OffsetPorts(other Plan) Plan {
	if p.Local { // any free ones
		return p
	}
	taken := make(map[netip.Addr]uint16)
	for _, place := range other.Places {
		if at, err := netip.ParseAddrPort(place.Listen); err == nil {
			taken[at.Addr()]++
		}
	}
	p.Places = slices.Clone(p.Places)
	for i, place := range p.Places {
		if at, err := netip.ParseAddrPort(place.Listen); err == nil {
			p.Places[i].Listen = netip.AddrPortFrom(at.Addr(), at.Port()+taken[at.Addr()]).String()
		}
	}
	return p
}
