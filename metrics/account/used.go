package account

import (
	"cmp"
	"slices"
	"time"

	"kvlab/metrics"
	"kvlab/metrics/stats"
)

// The quantities of a second. All but the first are means over it.
const (
	lengthS = iota
	machineCores
	processCores
	memory
	resident
	received
	sent
	quantities
)

// seconds are what a node used in each second of the window, by its Unix time: sums over the
// samples in it, each times its length. A day of them takes 10 MB.
type seconds map[int64][quantities]float64

// add adds a sample, which ended at a time, to the second in which its middle lies.
func (n seconds) add(end time.Time, u metrics.Usage, cores int) {
	data, _ := u.Data()
	at := end.Add(-time.Duration(u.LengthS / 2 * float64(time.Second))).Unix()
	sum := n[at]
	for q, v := range [quantities]float64{
		1, u.CPUPercent / 100 * float64(cores), u.Process.CPUPercent / 100,
		float64(u.MemoryUsedBytes), float64(u.Process.RSSBytes), data.RxBytesPerS, data.TxBytesPerS,
	} {
		sum[q] += u.LengthS * v
	}
	n[at] = sum
}

// mean returns the mean of a quantity over all seconds; 0 without one.
func (n seconds) mean(quantity int) float64 {
	sum, length := 0.0, 0.0
	for _, s := range n {
		sum, length = sum+s[quantity], length+s[lengthS]
	}
	return metrics.PerSecond(sum, length)
}

// member is a node among those whose use is summed up.
type member struct {
	metrics.RunNode
	place   int // in run.Nodes
	server  int // its number among the servers
	seconds seconds
	machine string
	link    string // what has its network interfaces: a host of a virtual lab, or machine
}

func (m member) onMachine() string { return m.machine }
func (m member) onLink() string    { return m.link }
func (m member) cores() float64    { return float64(m.Config.Host.Cores) }

// group is some members, and the run's others.
type group struct {
	of, all []member
	busiest float64 // second of the clients, over their mean second
}

// fillUsed fills in what each process, each role and the rest of the machines used in the
// window. Nodes that did not report it are left out.
func fillUsed(run *metrics.Run, reported, clients []*Reported) {
	run.Used = make(map[metrics.Role]metrics.Used)
	g, servers := group{busiest: 1}, 0
	for i, node := range run.Nodes {
		if node.Config != nil && node.Summary != nil && node.Summary.Saturation != nil {
			m := member{node, i, servers, reported[i].used, node.Config.Host.Hostname, node.Config.Host.Hostname}
			if run.Lab != nil {
				m.machine, m.link = "lab", node.Machine
			}
			g.all = append(g.all, m)
		}
		if node.Role == metrics.Server {
			servers++
		}
	}
	if rates := stats.Sum(ratesOf(clients, func(n *Reported) []float64 { return n.steady })...); len(rates) > 0 && slices.Max(rates) > 0 {
		g.busiest = slices.Max(rates) / stats.MeanOf(rates).Mean()
	}
	byRole := make(map[metrics.Role][]member)
	for i, m := range g.all {
		g.of = g.all[i : i+1]
		run.Nodes[m.place].Used = new(g.used())
		byRole[m.Role] = append(byRole[m.Role], m)
	}
	for role, of := range byRole {
		g.of = of
		run.Used[role] = g.used()
	}
	if len(g.all) > 0 {
		run.Used[metrics.Rest] = g.rest()
	}
}

// used returns what the processes of the group used.
func (g group) used() (u metrics.Used) {
	for _, m := range g.of {
		u.Unseen = cmp.Or(u.Unseen, m.Unseen())
	}
	if u.Unseen == "" {
		busy := sum(g.of, func(m member) float64 { return m.Summary.Saturation.ProcessCPUPercent / 100 })
		u.Cores = peaked(busy, part{g.of, processCores, 1})
		u.MachinePercent = 100 * busy / max(1, sum(firsts(g.of, member.onMachine), member.cores))
		u.MemoryBytes = peaked(sum(g.of, func(m member) float64 { return m.seconds.mean(resident) }), part{g.of, resident, 1})
	}
	links := firsts(g.of, member.onLink)
	if u.Payload = g.sharesLinks(); u.Payload {
		in, out := g.payload()
		u.RxBytesPerS, u.TxBytesPerS = metrics.AvgPeak{Avg: in, Peak: in * g.busiest}, metrics.AvgPeak{Avg: out, Peak: out * g.busiest}
		return u
	}
	u.RxBytesPerS = peaked(sum(links, func(m member) float64 { return m.Summary.Usage.RxBytesPerS.Avg }), part{links, received, 1})
	u.TxBytesPerS = peaked(sum(links, func(m member) float64 { return m.Summary.Usage.TxBytesPerS.Avg }), part{links, sent, 1})
	return u
}

// rest returns what the machines of all nodes used beside their processes. Of several nodes on a
// machine, the first one tells what the machine used.
func (g group) rest() (u metrics.Used) {
	machines := firsts(g.all, member.onMachine)
	busy := sum(machines, func(m member) float64 { return m.Summary.Usage.CPUPercent.Avg / 100 * m.cores() }) -
		sum(g.all, func(m member) float64 { return m.Summary.Saturation.ProcessCPUPercent / 100 })
	bytes := sum(machines, func(m member) float64 { return m.Summary.Usage.MemoryBytes.Avg }) -
		sum(g.all, func(m member) float64 { return m.seconds.mean(resident) })
	u.Cores = peaked(max(0, busy), part{machines, machineCores, 1}, part{g.all, processCores, -1})
	u.MachinePercent = 100 * u.Cores.Avg / max(1, sum(machines, member.cores))
	u.MemoryBytes = peaked(max(0, bytes), part{machines, memory, 1}, part{g.all, resident, -1})
	return u
}

// sharesLinks reports whether what the interfaces carried is not the group's alone.
func (g group) sharesLinks() bool {
	return slices.ContainsFunc(g.all, func(m member) bool {
		mine := func(o member) bool { return o.place == m.place }
		near := func(o member) bool { return o.link == m.link }
		return m.Elsewhere() && slices.ContainsFunc(g.of, mine) || !slices.ContainsFunc(g.of, mine) && slices.ContainsFunc(g.of, near)
	})
}

// payload returns what the calls of the window carried to and from the group, in bytes per
// second, without the frames' headers. A server's is computed from the mean operation of each client.
func (g group) payload() (in, out float64) {
	for _, client := range g.all {
		if client.Role != metrics.Client {
			continue
		}
		s := client.Summary
		sent, received := metrics.PerSecond(float64(s.BytesInWindow.Sent), s.WindowLengthS), metrics.PerSecond(float64(s.BytesInWindow.Received), s.WindowLengthS)
		for _, m := range g.of {
			switch {
			case m.place == client.place:
				in, out = in+received, out+sent
			case m.Role == metrics.Server && m.server < len(s.Peers):
				share := float64(s.Peers[m.server].Window.Ops()) / float64(max(1, s.InWindow.Ops()))
				in, out = in+share*sent, out+share*received
			}
		}
	}
	return in, out
}

// part is a part of a sum over nodes.
type part struct {
	of       []member
	quantity int
	sign     float64
}

// peaked returns an average with the highest second in which all nodes were sampled for at least
// half of it. The peak is never below the average.
func peaked(average float64, parts ...part) metrics.AvgPeak {
	v := metrics.AvgPeak{Avg: average, Peak: average}
	for at := range parts[0].of[0].seconds {
		total, whole := 0.0, true
		for _, p := range parts {
			for _, m := range p.of {
				s := m.seconds[at]
				whole = whole && s[lengthS] >= shortestSecond
				total += p.sign * metrics.PerSecond(s[p.quantity], s[lengthS])
			}
		}
		if whole {
			v.Peak = max(v.Peak, total)
		}
	}
	return v
}

// sum adds up a quantity of some members.
func sum(of []member, quantity func(member) float64) (total float64) {
	for _, m := range of {
		total += quantity(m)
	}
	return total
}

// firsts returns the first member of each name.
func firsts(of []member, name func(member) string) (first []member) {
	for _, m := range of {
		if !slices.ContainsFunc(first, func(f member) bool { return name(f) == name(m) }) {
			first = append(first, m)
		}
	}
	return first
}
