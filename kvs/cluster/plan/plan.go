// Package plan says which machine runs which program, with which arguments.
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
	"time"

	"kvlab/kvs/cluster/nodes"
	"kvlab/metrics"
	"kvlab/metrics/format"
)

// ServerPort is the first port on each data address, the labs' own. A second
// server on the same address gets the next one.
const ServerPort = 8080

// Plan says which node does what. Servers come first, as node0 is the labs'
// first server.
type Plan struct {
	Local      bool // processes on this machine
	Places     []Place
	ServerArgs []string                // the user's, for every server
	ClientArgs []string                // the user's, for every client
	Symmetric  bool                    // every node serves and loads
	Trusted    time.Duration           // for how long certificates are good, where arguments ask for them
	Cores      map[metrics.Role]string // a list as in cpuset(7) to which the role's processes are bound; "" for any
}

// Place is one process's place: a node in a role. A node may have several.
type Place struct {
	nodes.Node
	Name   string // the process's own: the node's, with a number where the role has several there
	Role   metrics.Role
	Data   string // data address, without a port
	Listen string // a server's host:port; port 0 is any free one
}

// Program is the name of the role's program.
func (p Place) Program() string { return Program(p.Role) }

func Program(role metrics.Role) string { return "kvs" + string(role) }

// Make gives nodes their roles. No nodes means processes on this machine.
func Make(ctx context.Context, spec Spec, found []nodes.Node) (Plan, error) {
	plan := Plan{
		Local: len(found) == 0, ServerArgs: spec.ServerArgs, ClientArgs: spec.ClientArgs, Symmetric: spec.Symmetric, Trusted: spec.Trusted(),
		Cores: map[metrics.Role]string{metrics.Server: spec.ServerCores, metrics.Client: spec.ClientCores},
	}
	if window := spec.window(); window > 0 {
		plan.ClientArgs = append(append([]string(nil), plan.ClientArgs...), "-secs", strconv.FormatFloat(window.Seconds(), 'f', -1, 64))
	}
	topology, err := topologyOf(spec, len(found))
	if err != nil {
		return plan, err
	}
	for i := len(found); plan.Local && i < topology.nodes(); i++ {
		found = append(found, nodes.Node{Name: fmt.Sprintf("node%d", i), Addr: "127.0.0.1"})
	}
	used := make(map[netip.Addr]int) // servers on each address
	for _, seat := range topology.assignments() {
		node := found[seat.node]
		addr, err := node.DataAddress(ctx)
		if err != nil {
			return plan, err
		}
		place := Place{Node: node, Name: seat.name(node.Name), Role: seat.role, Data: addr.String()}
		if seat.role == metrics.Server {
			place.Listen = netip.AddrPortFrom(addr, plan.port(used[addr])).String()
			used[addr]++
		}
		plan.Places = append(plan.Places, place)
	}
	return plan, plan.checkNames()
}

// port is where the n-th server on an address listens: anywhere that is free on
// this machine, where other runs may be under way.
func (p Plan) port(n int) uint16 {
	if p.Local {
		return 0
	}
	return uint16(ServerPort + n)
}

// checkNames refuses two servers or two clients of one name: a node's second
// server may be called as another node is.
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

// Count is the number of places with a role.
func (p Plan) Count(role metrics.Role) int {
	n := 0
	for _, place := range p.Places {
		if place.Role == role {
			n++
		}
	}
	return n
}

// Args is the command line of a node's program. hosts are the servers'
// addresses, index is the node's number among those of its role.
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
	if p.Local {
		b.WriteString("\nport 0 is any free port; the clients get the real ones\n")
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// describe says in one line what a place is.
func (p Plan) describe(place Place) string {
	text := fmt.Sprintf("%s at %s, %s", place.Role, cmp.Or(place.Listen, place.Data), place.Way)
	if cores := p.Cores[place.Role]; cores != "" {
		text += ", on cores " + cores
	}
	return text
}

// Source is where the plan's nodes were found; nil for this machine.
func (p Plan) Source() nodes.Source { return p.Places[0].Source }

// OffsetPorts gives the plan's servers ports that those of another plan, which runs at
// the same time, do not use.
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
