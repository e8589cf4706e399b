package witness

import (
	"math"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"kvlab/metrics"
	"kvlab/workload"
)

// honest returns what two servers see of an honest client of 8 goroutines with batches of 64, and
// what it claims: keys go to the server of their parity, for 2 s.
func honest() ([]metrics.Claimed, []Server, Asked) {
	asked := Asked{Workload: workload.DefaultConfig(), Secs: 2, Clients: 1, Workers: 8, Batch: 64}
	plan, err := workload.New(asked.Workload)
	if err != nil {
		panic(err)
	}
	const ops = 4e6
	servers := []Server{{"node0", &metrics.Witness{}}, {"node1", &metrics.Witness{}}}
	for key := range uint64(metrics.HotKeys) {
		w := servers[key%2].Witness
		if w.HotGets == nil {
			w.HotGets, w.HotPuts = make([]uint64, metrics.HotKeys), make([]uint64, metrics.HotKeys)
		}
		n := math.Round(ops * plan.Mass(key))
		w.HotPuts[key] = uint64(math.Round(n * 0.05))
		w.HotGets[key] = uint64(n) - w.HotPuts[key]
	}
	for i, s := range servers {
		w := s.Witness
		hot := uint64(0)
		for key := range w.HotGets {
			hot += w.HotGets[key] + w.HotPuts[key]
		}
		for from := uint64(metrics.HotKeys); from < asked.Workload.Records; from *= 2 {
			w.Octaves = append(w.Octaves, uint64(math.Round(ops/2*mass(plan, from, min(2*from, asked.Workload.Records)))))
			hot += w.Octaves[len(w.Octaves)-1]
		}
		w.Puts, w.Gets = hot/20, hot-hot/20
		w.First, w.Last = 1e18, 1e18+2e9
		w.Calls, w.Connections = hot/64, 8
		w.Sizes = []metrics.Size{{Least: 64, Most: 64, Calls: w.Calls, AtMost: w.Calls}}
		for at := w.First; at < w.Last; at += 1e7 {
			w.Slots.Add(at, hot/200)
		}
		w.ConnRate, w.InFlight, w.InFlightMean, w.InFlightAll, w.Overtakable = float64(hot)/2, 2, 1, 8, 5 // goroutines may share connections
		w.Highest = asked.Workload.Records - 2 + uint64(i)
		w.ColdGets, w.ColdBoth = 1000, 1
	}
	return []metrics.Claimed{{OpsPerS: 1.95e6, Lines: 1, RanS: 2.3}}, servers, asked
}

func TestHonest(t *testing.T) {
	for _, c := range Judge(honest()) {
		if c.Outcome != metrics.CheckPassed {
			t.Errorf("%s is %s: %s", c.ID, c.Outcome, c.Evidence)
		}
	}
	claims, servers, _ := honest()
	if text := Claim(claims, servers); text != "claims 1.95M ops/s; 2M were executed" {
		t.Error(text)
	}
}

// A client that skips its warm-up, or counts getting ready, claims right.
func TestHonestClaims(t *testing.T) {
	for name, c := range map[string]metrics.Claimed{
		"with getting ready": {OpsPerS: 2e6 * 2 / 3.5, Lines: 1, RanS: 3.6},
		"without a warm-up":  {OpsPerS: 2.01e6, Lines: 1, RanS: 2.3},
		"its end stalls":     {OpsPerS: 0.9e6, Lines: 1, RanS: 3.3}, // without a warm-up of 1 s
		"nobody knows":       {OpsPerS: 1.1e6, Lines: 1},
		"nothing":            {},
	} {
		_, servers, asked := honest()
		for _, f := range Judge([]metrics.Claimed{c}, servers, asked) {
			if f.Outcome == metrics.CheckFailed || f.Outcome == metrics.CheckDoubted {
				t.Errorf("%s: %s: %s", name, f.ID, f.Evidence)
			}
		}
	}
}

func TestFaults(t *testing.T) {
	for _, c := range []struct {
		id   string
		want string
		edit func(claim *metrics.Claimed, a, b *metrics.Witness, asked *Asked)
	}{
		{"client-reached", "no operation", func(_ *metrics.Claimed, a, b *metrics.Witness, _ *Asked) {
			*a, *b = metrics.Witness{}, metrics.Witness{}
		}},
		{"client-range", "1000000", func(_ *metrics.Claimed, a, _ *metrics.Witness, _ *Asked) { a.Highest = 1e6 }},
		{"client-range", `"user7"`, func(_ *metrics.Claimed, a, _ *metrics.Witness, _ *Asked) { a.Strange, a.Stranger = 1, "user7" }},
		{"client-puts", "90.0 % of the GETs are also sent", func(_ *metrics.Claimed, a, b *metrics.Witness, _ *Asked) {
			for _, w := range []*metrics.Witness{a, b} {
				w.Puts, w.Gets, w.ColdBoth = w.Gets/2, w.Gets/2+w.Puts, 900
			}
		}},
		{"client-mix", "PUTs where YCSB-B", func(_ *metrics.Claimed, a, _ *metrics.Witness, _ *Asked) { a.Gets, a.Puts = a.Puts, a.Gets }},
		{"client-twice", "5 calls of", func(_ *metrics.Claimed, a, _ *metrics.Witness, _ *Asked) { a.Repeats = 5 }},
		{"client-servers", "1 of 2 servers", func(_ *metrics.Claimed, _, b *metrics.Witness, _ *Asked) { *b = metrics.Witness{} }},
		{"client-routing", "are at several servers, as key 0", func(_ *metrics.Claimed, a, b *metrics.Witness, _ *Asked) {
			for key := range a.HotGets {
				half := (a.HotGets[key] + b.HotGets[key]) / 2
				a.HotGets[key], b.HotGets[key] = half, half
			}
		}},
		{"client-law", "the popular keys have not the shares", func(_ *metrics.Claimed, a, _ *metrics.Witness, _ *Asked) { a.HotGets[0] /= 2 }},
		{"client-law", "the keys 262144 to 524287 got 0.000 %", func(_ *metrics.Claimed, a, b *metrics.Witness, _ *Asked) { a.Octaves[8], b.Octaves[8] = 0, 0 }},
		{"client-dropped", "operations for a server that is busy are dropped", func(_ *metrics.Claimed, a, _ *metrics.Witness, _ *Asked) {
			for key := range a.HotGets {
				a.HotGets[key], a.HotPuts[key] = a.HotGets[key]*9/10, a.HotPuts[key]*9/10
			}
		}},
		{"client-dropped", "claims 6M ops/s; 2M were executed, and all calls were answered: what it counts beyond", func(c *metrics.Claimed, _, _ *metrics.Witness, _ *Asked) { c.OpsPerS = 6e6 }},
		{"client-counted", "claims 6M ops/s; 2M were executed: it counts operations before they are done", func(c *metrics.Claimed, a, _ *metrics.Witness, _ *Asked) {
			c.OpsPerS, a.Unanswered, a.UnansweredOps, a.Left = 6e6, 7, 448, 3
		}},
		{"client-counted", "were executed and answered", func(c *metrics.Claimed, a, b *metrics.Witness, _ *Asked) {
			c.Ops, a.Unanswered, a.UnansweredOps, a.Left = a.Ops()+b.Ops(), 7, 448, 3
		}},
		{"client-uncounted", "one operation in 8 of those of 16 connections, as if one goroutine of them counted", func(c *metrics.Claimed, _, _ *metrics.Witness, _ *Asked) { c.OpsPerS = 2e6 / 8 }},
		{"client-order", "9 calls in flight at once, of 8 goroutines", func(_ *metrics.Claimed, a, _ *metrics.Witness, _ *Asked) { a.InFlightAll, a.Overtakable = 9, 9 }},
		{"client-unanswered", "closed 3 of 16 connections with 7 calls in flight", func(_ *metrics.Claimed, a, _ *metrics.Witness, _ *Asked) {
			a.Unanswered, a.UnansweredOps, a.Left = 7, 448, 3
		}},
		{"client-batch", "calls carry 64 operations whatever the batch flag says, here 1024", func(_ *metrics.Claimed, _, _ *metrics.Witness, asked *Asked) { asked.Batch = 1024 }},
		{"client-full", "no batch is ever full: a PUT ends a batch", func(_ *metrics.Claimed, a, b *metrics.Witness, asked *Asked) {
			asked.Batch = 4096
			for _, w := range []*metrics.Witness{a, b} {
				w.Sizes, w.FlushedByPut = []metrics.Size{{Least: 1, Most: 1, Calls: w.Calls / 2, AtMost: w.Calls / 2}, {Least: 64, Most: 127, Calls: w.Calls / 2, AtMost: 1}}, w.Calls
			}
		}},
	} {
		claims, servers, asked := honest()
		c.edit(&claims[0], servers[0].Witness, servers[1].Witness, &asked)
		found := Judge(claims, servers, asked)
		at := slices.IndexFunc(found, func(f metrics.CheckResult) bool {
			return f.Outcome == metrics.CheckFailed || f.Outcome == metrics.CheckDoubted
		})
		if at < 0 || found[at].ID != c.id || !strings.Contains(found[at].Evidence, c.want) {
			t.Errorf("%s: %+v, want %q", c.id, found[max(at, 0):], c.want)
		}
	}
}

// A server that does not tell what it saw fails the first check.
func TestNoWitness(t *testing.T) {
	claims, servers, asked := honest()
	servers[1].Witness = nil
	if f := Judge(claims, servers[1:], asked)[0]; f.Outcome != metrics.CheckFailed || f.Node != "node1" {
		t.Errorf("%+v", f)
	}
}

// The page lists every check, in the table's order.
func TestPage(t *testing.T) {
	page, err := os.ReadFile("../../../docs/course.md")
	if err != nil {
		t.Fatal(err)
	}
	var listed, want []string
	for _, match := range regexp.MustCompile(`(?m)^\| (client-[a-z]+) \|`).FindAllSubmatch(page, -1) {
		listed = append(listed, string(match[1]))
	}
	for _, c := range Checks {
		want = append(want, c.ID)
	}
	if !slices.Equal(listed, want) {
		t.Errorf("docs/course.md lists %q, want %q", listed, want)
	}
}
