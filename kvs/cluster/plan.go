package cluster

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"strconv"
	"strings"

	"kvlab/metrics"
)

// serverPort is the first port on each data address, the labs' own. A second
// server on the same address gets the next one.
const serverPort = 8080

// Plan says which node does what. Servers come first, as node0 is the labs'
// first server.
type Plan struct {
	Local      bool // processes on this machine
	Places     []Place
	ServerArgs []string // the user's, for every server
	ClientArgs []string // the user's, for every client
}

// Place is a node in its role.
type Place struct {
	Node
	Role   metrics.Role
	Data   string // data address, without a port
	Listen string // a server's host:port; port 0 is any free one
}

// Program is the name of the role's program.
func (p Place) Program() string { return programName(p.Role) }

func programName(role metrics.Role) string { return "kvs" + string(role) }

// makePlan gives nodes their roles. No nodes means processes on this machine.
func makePlan(ctx context.Context, cfg Config, nodes []Node) (Plan, error) {
	plan := Plan{Local: len(nodes) == 0, ServerArgs: cfg.ServerArgs, ClientArgs: cfg.ClientArgs}
	if cfg.Secs > 0 {
		plan.ClientArgs = append(append([]string(nil), cfg.ClientArgs...), "-secs", strconv.Itoa(cfg.Secs))
	}
	if plan.Local {
		servers, clients := max(cfg.Servers, 1), max(cfg.Clients, 1)
		for i := range servers + clients {
			plan.add(Node{Name: fmt.Sprintf("node%d", i)}, i < servers, "127.0.0.1", 0)
		}
		return plan, nil
	}
	servers, clients, err := split(len(nodes), cfg.Servers, cfg.Clients)
	if err != nil {
		return plan, err
	}
	used := make(map[netip.Addr]int) // servers on each address
	for i, node := range nodes[:servers+clients] {
		addr, err := node.dataAddress(ctx)
		if err != nil {
			return plan, err
		}
		plan.add(node, i < servers, addr.String(), serverPort+used[addr])
		if i < servers {
			used[addr]++
		}
	}
	return plan, nil
}

func (p *Plan) add(node Node, serves bool, data string, port int) {
	place := Place{Node: node, Role: metrics.Client, Data: data}
	if serves {
		place.Role = metrics.Server
		place.Listen = net.JoinHostPort(data, strconv.Itoa(port))
	}
	p.Places = append(p.Places, place)
}

// split divides available nodes as the labs' script does: half of them serve,
// the rest load, where no number is given.
func split(available, servers, clients int) (int, int, error) {
	if available < 2 {
		return 0, 0, errors.New("1 node is named, and a run needs at least a server and a client: name more, or use --local")
	}
	if servers == 0 {
		servers = available / 2
	}
	if clients == 0 {
		clients = available - servers
	}
	if clients <= 0 || servers+clients > available {
		return 0, 0, fmt.Errorf("%s and %s are more than the %d nodes there are", counted(servers, "server"), counted(max(clients, 1), "client"), available)
	}
	return servers, clients, nil
}

// count is the number of places with a role.
func (p Plan) count(role metrics.Role) int {
	n := 0
	for _, place := range p.Places {
		if place.Role == role {
			n++
		}
	}
	return n
}

// args is the command line of a node's program. hosts are the servers'
// addresses, index is the node's number among those of its role.
func (p Plan) args(place Place, index int, hosts []string) []string {
	if place.Role == metrics.Server {
		return append([]string{"-node", place.Name, "-listen", place.Listen}, p.ServerArgs...)
	}
	own := []string{
		"-node", place.Name, "-hosts", strings.Join(hosts, ","),
		"-client", strconv.Itoa(index), "-clients", strconv.Itoa(p.count(metrics.Client)),
	}
	return append(own, p.ClientArgs...)
}

// print writes the plan for --dry-run.
func (p Plan) print(w io.Writer) error {
	var b strings.Builder
	fmt.Fprintf(&b, "%s, %s\n", counted(p.count(metrics.Server), "server"), counted(p.count(metrics.Client), "client"))
	var hosts []string
	index := make(map[metrics.Role]int)
	for _, place := range p.Places {
		where := place.route()
		address := place.Data
		if place.Role == metrics.Server {
			address = place.Listen
			hosts = append(hosts, address)
		}
		fmt.Fprintf(&b, "\n%s: %s at %s, %s\n  %s", place.Name, place.Role, address, where, place.Program())
		for _, arg := range p.args(place, index[place.Role], hosts) {
			b.WriteString(" " + quoteWord(arg))
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

// route says how the launcher reaches the node.
func (n Node) route() string {
	switch {
	case n.Job != "":
		return "by srun in Slurm job " + n.Job
	case n.Port != "":
		return "by ssh " + n.SSH + " port " + n.Port
	case n.SSH != "":
		return "by ssh " + n.SSH
	}
	return "on this machine"
}

// quoteWord writes an argument so that it may be pasted into a shell.
func quoteWord(word string) string {
	plain := func(r rune) bool {
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("-_./:,=+@%", r)
	}
	if word != "" && strings.TrimFunc(word, plain) == "" {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}
