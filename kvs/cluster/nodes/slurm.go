package nodes

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"slices"
	"strings"
	"time"
)

// Slurm is the Slurm job that the launcher runs in, and Slurm's programs as paths or names
// on PATH.
type Slurm struct {
	Job      string // SLURM_JOB_ID; "" outside of any job
	NodeList string // SLURM_JOB_NODELIST, in Slurm's short form: node[0-3]
	Scontrol string
	Srun     string
}

// endedTimeout limits the query for the job's end.
const endedTimeout = 5 * time.Second

// ThisSlurm returns the job that this process is part of.
func ThisSlurm() Slurm {
	return Slurm{
		Job: os.Getenv("SLURM_JOB_ID"), NodeList: os.Getenv("SLURM_JOB_NODELIST"),
		Scontrol: "scontrol", Srun: "srun",
	}
}

// Nodes returns the job's nodes, with the data addresses that Slurm knows. It returns none
// for a job of one node, which is this machine.
func (s Slurm) Nodes(ctx context.Context) ([]Node, error) {
	nodes, err := s.named(ctx, nil)
	if len(nodes) < 2 {
		nodes = nil
	}
	return nodes, err
}

// named returns the named nodes of the job in that order, or all of its nodes. It keeps a
// stated address.
func (s Slurm) named(ctx context.Context, named []Node) ([]Node, error) {
	if s.Job == "" {
		return nil, errors.New("--slurm: this is no Slurm job (SLURM_JOB_ID is not set): begin one with `salloc -N 4 --exclusive ./run-cluster.sh`, or put ./run-cluster.sh into a script for `sbatch -N 4 --exclusive`")
	}
	names, err := s.ask(ctx, "show", "hostnames", s.NodeList)
	if err != nil {
		return nil, err
	}
	var nodes []Node
	for _, name := range strings.Fields(names) {
		if err := CheckName(name); err != nil {
			return nil, fmt.Errorf("%s show hostnames: %w", s.Scontrol, err)
		}
		nodes = append(nodes, Node{Name: name, Way: Way{Kind: Srun, To: s.Job}})
	}
	facts, err := s.ask(ctx, "-o", "show", "node", s.NodeList)
	if err != nil {
		return nil, err
	}
	for line := range strings.Lines(facts) {
		for i := range nodes {
			if name := slurmField(line, "NodeName"); name == nodes[i].Name || slurmField(line, "NodeHostName") == nodes[i].Name {
				nodes[i].Addr = slurmField(line, "NodeAddr")
			}
		}
	}
	if len(named) > 0 {
		if nodes, err = s.choose(nodes, named); err != nil {
			return nil, err
		}
	}
	giveOwnAddress(ctx, nodes)
	return nodes, nil
}

// choose returns the job's nodes that are named.
func (s Slurm) choose(nodes, named []Node) ([]Node, error) {
	var chosen []Node
	for _, n := range named {
		i := slices.IndexFunc(nodes, func(node Node) bool { return node.Name == n.Name })
		if i < 0 { // either name may have a domain
			i = slices.IndexFunc(nodes, func(node Node) bool {
				return strings.HasPrefix(node.Name, n.Name+".") || strings.HasPrefix(n.Name, node.Name+".")
			})
		}
		if i < 0 {
			return nil, fmt.Errorf("--slurm: node %s is not in Slurm job %s, which has %s", n.Name, s.Job, s.NodeList)
		}
		if n.Way.To != n.Name {
			return nil, fmt.Errorf("--slurm: node %s is reached by srun: it goes without ssh=%s", n.Name, n.Way.To)
		}
		node := nodes[i]
		node.Addr = cmp.Or(n.Addr, node.Addr)
		chosen = append(chosen, node)
	}
	return chosen, nil
}

// giveOwnAddress sets the data address of the launcher's node to the one from which it
// reaches the others. Debian's /etc/hosts maps the node's own name to a loopback
// address.
func giveOwnAddress(ctx context.Context, nodes []Node) {
	own := -1
	var other netip.Addr
	for i, node := range nodes {
		addr, err := node.DataAddress(ctx)
		switch {
		case errors.Is(err, errLoopback):
			own = i
		case err == nil:
			other = addr
		}
	}
	if own < 0 || !other.IsValid() {
		return // the plan reports nodes without an address
	}
	conn, err := net.Dial("udp", netip.AddrPortFrom(other, 9).String()) // sends nothing
	if err != nil {
		return
	}
	defer conn.Close()
	nodes[own].Addr = conn.LocalAddr().(*net.UDPAddr).IP.String()
}

// Ended returns how the job ended, and whether a time limit is the reason; "" if it has
// not, or nothing is known.
func (s Slurm) Ended(ctx context.Context) (words string, timeLimit bool) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), endedTimeout)
	defer cancel()
	job, err := s.ask(ctx, "-o", "show", "job", s.Job)
	if err != nil {
		return "", false
	}
	state, reason := slurmField(job, "JobState"), slurmField(job, "Reason")
	switch {
	case !slices.Contains(endedStates, state):
		return "", false
	case state == "TIMEOUT" || reason == "TimeLimit":
		return fmt.Sprintf("Slurm job %s has reached its time limit", s.Job), true
	}
	return fmt.Sprintf("Slurm job %s has been ended (%s)", s.Job, state), false
}

// endedStates are the states of a job that has ended, from squeue(1). In the first one
// its last processes are being ended.
var endedStates = []string{
	"COMPLETING", "BOOT_FAIL", "CANCELLED", "COMPLETED", "DEADLINE", "FAILED", "NODE_FAIL", "OUT_OF_MEMORY", "PREEMPTED", "REVOKED", "TIMEOUT",
}

// ask runs scontrol and returns its output.
func (s Slurm) ask(ctx context.Context, question ...string) (string, error) {
	answer, err := Ask(ctx, s.Scontrol, question...)
	if err != nil {
		err = fmt.Errorf("%s %s: %w", s.Scontrol, strings.Join(question, " "), err)
	}
	return answer, err
}

// slurmField returns the value of a field in scontrol's one-line form: name=value fields
// separated by spaces.
func slurmField(line, name string) string {
	for _, field := range strings.Fields(line) {
		if value, ok := strings.CutPrefix(field, name+"="); ok {
			return value
		}
	}
	return ""
}
