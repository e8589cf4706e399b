package serial

import (
	"cmp"
	"slices"

	"gonum.org/v1/gonum/graph"
	"gonum.org/v1/gonum/graph/iterator"
	"gonum.org/v1/gonum/graph/simple"
	"gonum.org/v1/gonum/graph/topo"
)

// cyclic lists the cycles by the edges that they need. The first set with a cycle names it.
var cyclic = []struct {
	anomaly Anomaly
	edges   kinds
	once    kinds // an edge that the cycle has exactly once, beside the others
}{
	{DirtyWrite, writeWrite, 0},
	{CircularFlow, writeWrite | writeRead, 0},
	{ReadSkew, writeWrite | writeRead, readWrite},
	{WriteSkew, writeWrite | writeRead | readWrite, 0},
	{Stale, everything, 0},
}

// cycle finds a cycle in the graph, and names it.
func (c *checker) cycle() *Fault {
	c.barriers()
	g := newDependencies(c)
	core := g.trim(everything, g.left)
	for _, kind := range cyclic {
		if core != nil {
			if found := g.shortest(kind.edges, kind.once, core); found != nil {
				return c.cycleFault(kind.anomaly, found)
			}
		}
	}
	return nil
}

// barriers adds the edges of real time, and a node for each barrier. Calls with no return
// between them share one.
func (c *checker) barriers() {
	var calls, returns []int32
	for i, node := range c.node {
		if node {
			calls = append(calls, int32(i))
			if c.h.Attempts[i].Outcome == Committed {
				returns = append(returns, int32(i))
			}
		}
	}
	all := c.h.Attempts
	slices.SortFunc(calls, func(a, b int32) int { return cmp.Compare(all[a].CallNs, all[b].CallNs) })
	slices.SortFunc(returns, func(a, b int32) int { return cmp.Compare(all[a].ReturnNs, all[b].ReturnNs) })
	barrier := int32(len(all)) - 1 // the last one; the first has number len(all)
	for _, called := range calls {
		if len(returns) > 0 && all[returns[0]].ReturnNs < all[called].CallNs {
			if barrier++; int(barrier) > len(all) {
				c.add(barrier-1, barrier, 0, realTime)
			}
			for ; len(returns) > 0 && all[returns[0]].ReturnNs < all[called].CallNs; returns = returns[1:] {
				c.add(returns[0], barrier, 0, realTime)
			}
		}
		if int(barrier) >= len(all) {
			c.add(barrier, called, 0, realTime)
		}
	}
	c.node = slices.Grow(c.node, int(barrier)+1-len(all))[:barrier+1]
}

// dependencies is the graph of a history, as gonum's package topo reads it.
type dependencies struct {
	graph.Directed // nil: topo asks for Nodes and From alone
	edges          []edge
	attempts       int     // the nodes below are attempts, the others barriers
	start          []int32 // of each node, its first edge in out; one more at the end
	out            []int32 // the edges, by where they begin
	left           []bool  // of each node: it may be on a cycle
	part           []int32 // of each node, its component
	mask           kinds   // the edges that count

	// Of a search; see path.
	mark   []int32
	search int32
	came   []int32 // of each node, the edge by which the search came
	budget int     // edges that searches may still follow
}

func newDependencies(c *checker) *dependencies {
	n := len(c.node)
	g := &dependencies{edges: c.edges, attempts: len(c.h.Attempts), start: make([]int32, n+1), out: make([]int32, len(c.edges)), left: make([]bool, n)}
	for _, e := range g.edges {
		g.start[e.from+1]++
	}
	for i := range n {
		g.start[i+1] += g.start[i]
		g.left[i] = true
	}
	at := slices.Clone(g.start)
	for i, e := range g.edges {
		g.out[at[e.from]] = int32(i)
		at[e.from]++
	}
	return g
}

// trim keeps the nodes of a set that may be on a cycle of some kinds of edges: it removes those
// without an edge in, again and again. It returns nil if none are left.
func (g *dependencies) trim(edges kinds, from []bool) []bool {
	g.mask, g.left = edges, slices.Clone(from)
	into, free := make([]int32, len(from)), []int32(nil)
	for _, e := range g.edges {
		if e.kind&edges != 0 && from[e.from] {
			into[e.to]++
		}
	}
	for i, n := range into {
		if n == 0 && from[i] {
			free = append(free, int32(i))
		}
	}
	for len(free) > 0 {
		node := free[len(free)-1]
		free = free[:len(free)-1]
		g.left[node] = false
		for _, i := range g.out[g.start[node]:g.start[node+1]] {
			e := g.edges[i]
			if e.kind&edges == 0 || !from[e.to] {
				continue
			}
			if into[e.to]--; into[e.to] == 0 {
				free = append(free, e.to)
			}
		}
	}
	if slices.Contains(g.left, true) {
		return g.left
	}
	return nil
}

// Nodes returns the nodes that are left.
func (g *dependencies) Nodes() graph.Nodes {
	var nodes []graph.Node
	for i, left := range g.left {
		if left {
			nodes = append(nodes, simple.Node(i))
		}
	}
	return iterator.NewOrderedNodes(nodes)
}

// From returns the nodes after one.
func (g *dependencies) From(node int64) graph.Nodes {
	var nodes []graph.Node
	for _, i := range g.out[g.start[node]:g.start[node+1]] {
		if e := g.edges[i]; e.kind&g.mask != 0 && g.left[e.to] {
			nodes = append(nodes, simple.Node(e.to))
		}
	}
	return iterator.NewOrderedNodes(nodes)
}

// mostSteps bounds the search for the shortest of many cycles: about a second.
const mostSteps = 50_000_000

// shortest returns the edges of a cycle in the core of some kinds with the fewest attempts, with
// one edge of the kind once unless that is 0; nil if there is none.
func (g *dependencies) shortest(edges, once kinds, core []bool) (best []int32) {
	if g.trim(edges|once, core) == nil {
		return nil
	}
	parts := topo.TarjanSCC(g)
	parts = slices.DeleteFunc(parts, func(part []graph.Node) bool { return len(part) == 1 })
	if len(parts) == 0 {
		return nil
	}
	slices.SortFunc(parts, func(a, b []graph.Node) int { return cmp.Compare(len(a), len(b)) })
	g.mark, g.came, g.part = make([]int32, len(g.left)), make([]int32, len(g.left)), make([]int32, len(g.left))
	g.search, g.budget = 0, mostSteps
	most := len(g.left)
	for number, part := range parts {
		slices.SortFunc(part, func(a, b graph.Node) int { return cmp.Compare(a.ID(), b.ID()) }) // T1 is the first one of the history
		for _, node := range part {
			g.part[node.ID()] = int32(number) + 1
		}
		for _, node := range part {
			from := int32(node.ID())
			if once != 0 {
				for _, i := range g.out[g.start[from]:g.start[from+1]] {
					if e := g.edges[i]; e.kind == once && g.part[e.to] == g.part[from] {
						best, most = g.better(best, most, g.path(e.to, from, edges, most-1), i)
					}
				}
			} else if int(from) < g.attempts {
				best, most = g.better(best, most, g.path(from, from, edges, most))
			}
			if best != nil && g.budget < 0 {
				return best
			}
		}
	}
	return best
}

// better returns the better of two cycles, and how many attempts it has. The second one is a
// path, nil if there is none, and further edges.
func (g *dependencies) better(best []int32, most int, path []int32, more ...int32) ([]int32, int) {
	if path == nil {
		return best, most
	}
	n := 0
	cycle := append(more, path...)
	for _, i := range cycle {
		if int(g.edges[i].to) < g.attempts {
			n++
		}
	}
	if best != nil && n >= most {
		return best, most
	}
	return cycle, n
}

// path returns the edges of a path within a component that comes to the fewest attempts, at
// most some; nil if there is none. A path from a node to itself is a cycle.
func (g *dependencies) path(from, to int32, edges kinds, most int) []int32 {
	g.search++
	here, after := []int32{from}, []int32(nil) // nodes with as many attempts before them, and with one more
	for n := 1; len(here) > 0 && n <= most; n++ {
		for ; len(here) > 0; here = here[:len(here)-1] {
			node := here[len(here)-1]
			for _, i := range g.out[g.start[node]:g.start[node+1]] {
				e := g.edges[i]
				g.budget--
				if e.kind&edges == 0 || g.part[e.to] != g.part[from] || g.mark[e.to] == g.search || e.to == from && to != from {
					continue
				}
				g.mark[e.to], g.came[e.to] = g.search, i
				switch {
				case e.to == to:
					return g.back(from, to)
				case int(e.to) < g.attempts:
					after = append(after, e.to)
				default:
					here = append(here[:len(here)-1], e.to, node)
				}
			}
		}
		here, after = after, here
	}
	return nil
}

// back returns the path of the last search.
func (g *dependencies) back(from, to int32) (path []int32) {
	for node := to; ; {
		i := g.came[node]
		path = append(path, i)
		if node = g.edges[i].from; node == from {
			slices.Reverse(path)
			return path
		}
	}
}
