package cluster

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"slices"
	"strings"
	"time"
)

// Slurm is the Slurm job that the launcher runs in, and Slurm's programs, paths
// or names on PATH.
type Slurm struct {
	Job      string // SLURM_JOB_ID; "" outside of any job
	NodeList string // SLURM_JOB_NODELIST, in Slurm's short form: node[0-3]
	Scontrol string
	Srun     string
}

// slurmTimeout bounds a question to slurmctld. Slurm's programs wait for it
// 10 s at a time (MessageTimeout in slurm.conf(5)).
const slurmTimeout = 20 * time.Second

// slurmPatience is how long the end of a run waits to hear more about it.
const slurmPatience = 5 * time.Second

// thisSlurm is the job that this process is part of.
func thisSlurm() Slurm {
	return Slurm{
		Job: os.Getenv("SLURM_JOB_ID"), NodeList: os.Getenv("SLURM_JOB_NODELIST"),
		Scontrol: "scontrol", Srun: "srun",
	}
}

// nodes are the job's nodes, with their data addresses where they are known. When
// some are named, only these are returned, in that order; an address that they
// come with stays.
func (s Slurm) nodes(ctx context.Context, named []Node) ([]Node, error) {
	if s.Job == "" {
		return nil, errors.New("--slurm: this is no Slurm job (SLURM_JOB_ID is not set): begin one with `salloc -N 4 --exclusive ./run-cluster.sh`, or put ./run-cluster.sh into a script for `sbatch -N 4 --exclusive`")
	}
	names, err := s.ask(ctx, "show", "hostnames", s.NodeList)
	if err != nil {
		return nil, err
	}
	var nodes []Node
	for _, name := range strings.Fields(names) {
		if !nodeName.MatchString(name) {
			return nil, fmt.Errorf("%s show hostnames: %q is no node name", s.Scontrol, name)
		}
		nodes = append(nodes, Node{Name: name, Job: s.Job})
	}
	facts, err := s.ask(ctx, "-o", "show", "node", s.NodeList)
	if err != nil {
		return nil, err
	}
	for line := range strings.Lines(facts) {
		for i := range nodes {
			if slurmField(line, "NodeName") == nodes[i].Name {
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

// choose takes the named ones of the job's nodes.
func (s Slurm) choose(nodes, named []Node) ([]Node, error) {
	var chosen []Node
	for _, n := range named {
		i := slices.IndexFunc(nodes, func(node Node) bool { return node.Name == n.Name })
		if i < 0 {
			return nil, fmt.Errorf("--slurm: node %s is not in Slurm job %s, which has %s", n.Name, s.Job, s.NodeList)
		}
		if n.SSH != n.Name {
			return nil, fmt.Errorf("--slurm: node %s is reached by srun: it goes without ssh=%s", n.Name, n.SSH)
		}
		node := nodes[i]
		node.Addr = cmp.Or(n.Addr, node.Addr)
		chosen = append(chosen, node)
	}
	return chosen, nil
}

// giveOwnAddress mends what Debian's /etc/hosts does on the node that the
// launcher runs on: its own name is a loopback address there. Its data address is
// the one from which it reaches the others.
func giveOwnAddress(ctx context.Context, nodes []Node) {
	own := -1
	var other netip.Addr
	for i, node := range nodes {
		addr, err := node.dataAddress(ctx)
		switch {
		case errors.Is(err, errLoopback):
			own = i
		case err == nil:
			other = addr
		}
	}
	if own < 0 || !other.IsValid() {
		return // what has no address yet is the plan's to report
	}
	conn, err := net.Dial("udp", netip.AddrPortFrom(other, 9).String()) // sends nothing
	if err != nil {
		return
	}
	defer conn.Close()
	nodes[own].Addr = conn.LocalAddr().(*net.UDPAddr).IP.String()
}

// end says how the job has ended, "" when it has not, or nothing is known.
func (s Slurm) end(ctx context.Context) (words string, timeLimit bool) {
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

// endedStates are the states of a job that runs no more, from squeue(1). In the
// first one it remains while its last processes are ended.
var endedStates = []string{
	"COMPLETING", "BOOT_FAIL", "CANCELLED", "COMPLETED", "DEADLINE", "FAILED", "NODE_FAIL", "OUT_OF_MEMORY", "PREEMPTED", "REVOKED", "TIMEOUT",
}

// explain adds to the error that has ended a run what became of the job. When
// Slurm ends a job, it also signals the launcher in a batch script, and that is
// no interrupt by the user.
func (s Slurm) explain(ctx context.Context, err error) error {
	if err == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), slurmPatience)
	defer cancel()
	end, timeLimit := s.end(ctx)
	if end == "" {
		return err
	}
	ended := &fault{reason: end}
	var f *fault
	switch {
	case errors.Is(err, errInterrupted):
		return ended
	case errors.As(err, &f) && !timeLimit:
		ended.node, ended.reason = f.node, end+": "+f.reason
	}
	return errors.Join(ended, err)
}

// ask puts a question to scontrol.
func (s Slurm) ask(ctx context.Context, question ...string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, slurmTimeout)
	defer cancel()
	cmd := exec.CommandContext(ctx, s.Scontrol, question...)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	cmd.WaitDelay = time.Second
	if err := cmd.Run(); err != nil {
		return "", fmt.Errorf("%s %s: %s", s.Scontrol, strings.Join(question, " "), cmp.Or(lastLine(stderr.String()), err.Error()))
	}
	return stdout.String(), nil
}

// slurmField is the value of a field in scontrol's one-line form, which is
// name=value separated by spaces.
func slurmField(line, name string) string {
	for _, field := range strings.Fields(line) {
		if value, ok := strings.CutPrefix(field, name+"="); ok {
			return value
		}
	}
	return ""
}
