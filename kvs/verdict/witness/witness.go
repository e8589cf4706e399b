// Package witness judges a team's own client by what kvlab's servers saw of it: what it claims,
// and how it does the course's work. It is pure.
package witness

import (
	"fmt"
	"math"
	"strings"

	"kvlab/metrics"
	"kvlab/metrics/format"
	"kvlab/metrics/stats"
	"kvlab/workload"
)

// Asked is what the launcher asks of the clients. Zero stands for unknown.
type Asked struct {
	Workload workload.Config // whose keys are numbers, the most popular first
	Secs     float64         // that a client runs
	Clients  int             // processes
	Workers  int             // goroutines of a client, each with its own generator
	Batch    int             // operations that a worker collects
}

// Server is what a server saw.
type Server struct {
	Node    string
	Witness *metrics.Witness
}

// Check is a row of the table of checks, as in package verdict.
type Check struct {
	ID      string // stable; none of package verdict's
	Meaning string // what holds of a client that passes, as one sentence
	Advice  string // what to do when it does not, as one line
	fn      func(*judged) finding
}

// Advice of several rows.
const (
	done  = "Count an operation when its reply is there, wait for every reply, and add up what all goroutines counted."
	route = "Send every key to one server, chosen by the key alone: by its hash with a fixed seed, or by its number modulo the number of servers."
	drawn = "Send each operation that the generator draws once, as it is: no other mix, no other keys, none left out."
	fill  = "Look at what ends a batch, and whether the flag's value is read after flag.Parse."
)

// Checks is the table of checks. The first row that fails gives the verdict.
var Checks = []Check{
	{"client-reached", "the client sends operations, and every server tells what it saw", "Look at the client's log, and at its -hosts.", checkReached},
	{"client-range", "every key is a number of the generator's", drawn, checkRange},
	{"client-puts", "no GET is also sent as a PUT", "Look at the branch that fills the batches: an else that belongs to another if sends reads as writes.", checkPuts},
	{"client-mix", "GETs and PUTs have their shares of the operations", drawn, checkMix},
	{"client-twice", "no batch is sent again, and no two generators have the same seed", drawn, checkTwice},
	{"client-servers", "the client uses all servers", route, checkServers},
	{"client-routing", "each key is at one server", route, checkRouting},
	{"client-law", "the keys have the popularity that the generator gives them", drawn, checkLaw},
	{"client-dropped", "no operation is dropped before it is sent", "Wait when a queue is full: a select with a default drops what does not fit.", checkDropped},
	{"client-counted", "the client claims no more than was executed", done, checkCounted},
	{"client-uncounted", "the client claims no less than was executed", done, checkUncounted},
	{"client-order", "the operations of a generator take effect in its order", "Have one call in flight for each generator and server: net/rpc executes the calls of a connection in any order.", checkOrder},
	{"client-unanswered", "the client waits for every reply", done, checkUnanswered},
	{"client-batch", "the batch flag has an effect", fill, checkBatch},
	{"client-full", "batches are filled", fill, checkFull},
}

// finding is a check's result without its ID.
type finding metrics.CheckResult

func passed(format string, args ...any) finding {
	return finding{Outcome: metrics.CheckPassed, Evidence: fmt.Sprintf(format, args...)}
}

func failed(node, format string, args ...any) finding {
	return finding{Outcome: metrics.CheckFailed, Node: node, Evidence: fmt.Sprintf(format, args...)}
}

func doubted(format string, args ...any) finding {
	return finding{Outcome: metrics.CheckDoubted, Evidence: fmt.Sprintf(format, args...)}
}

func inapplicable(format string, args ...any) finding {
	return finding{Outcome: metrics.CheckInapplicable, Evidence: fmt.Sprintf(format, args...)}
}

// judged is what the checks read.
type judged struct {
	claim   metrics.Claimed // all clients' together; the longest RanS; no Ops unless each tells
	claimed bool            // some client claims a rate
	servers []Server
	asked   Asked
	plan    *workload.Plan
	err     error // of the workload

	gets, puts, calls, connections uint64
	largest                        int         // operations of the largest call
	slots                          stats.Slots // of all servers
	first, last                    int64       // arrivals, in nanoseconds
	unanswered, unansweredOps      uint64
}

// Judge returns what each of Checks finds, in its order. It makes every check, whatever the
// others find.
func Judge(claims []metrics.Claimed, servers []Server, asked Asked) (all []metrics.CheckResult) {
	j := newJudged(claims, servers, asked)
	for _, row := range Checks {
		f := inapplicable("the servers saw no operation")
		if row.ID == Checks[0].ID || j.ops() > 0 {
			f = row.fn(j)
		}
		f.ID = row.ID
		all = append(all, metrics.CheckResult(f))
	}
	return all
}

// Claim returns the claim beside the count: "claims 8.97k ops/s; 375k were executed".
func Claim(claims []metrics.Claimed, servers []Server) string {
	return newJudged(claims, servers, Asked{}).says()
}

func (j *judged) says() string {
	if !j.claimed {
		return fmt.Sprintf("claims nothing; %s ops/s were executed", format.Count(j.rate()))
	}
	return fmt.Sprintf("claims %s ops/s; %s were executed", format.Count(j.claim.OpsPerS), format.Count(j.rate()))
}

func newJudged(claims []metrics.Claimed, servers []Server, asked Asked) *judged {
	j := &judged{servers: servers, asked: asked}
	j.plan, j.err = workload.New(asked.Workload)
	tell := true
	for _, c := range claims {
		j.claimed = j.claimed || c.Lines > 0
		j.claim.OpsPerS += c.OpsPerS
		j.claim.Ops += c.Ops
		j.claim.RanS = max(j.claim.RanS, c.RanS)
		tell = tell && c.Ops > 0
	}
	if !tell {
		j.claim.Ops = 0
	}
	for _, s := range servers {
		w := s.Witness
		if w == nil || w.Calls == 0 {
			continue
		}
		if j.calls == 0 || w.First < j.first {
			j.first = w.First
		}
		j.last = max(j.last, w.Last)
		j.gets, j.puts, j.calls, j.connections = j.gets+w.Gets, j.puts+w.Puts, j.calls+w.Calls, j.connections+w.Connections
		j.unanswered, j.unansweredOps = j.unanswered+w.Unanswered, j.unansweredOps+w.UnansweredOps
		j.slots.Merge(w.Slots)
		for _, size := range w.Sizes {
			j.largest = max(j.largest, size.Most)
		}
	}
	return j
}

func (j *judged) ops() uint64 { return j.gets + j.puts }

// span returns the seconds from the first call to the last, and not less than a slot.
func (j *judged) span() float64 { return float64(max(j.last-j.first, j.slots.WidthNs, 1)) / 1e9 }

// rate returns the operations per second that were executed.
func (j *judged) rate() float64 { return float64(j.ops()) / j.span() }

// tail returns how many operations a client may keep at its end: it sends no batch that is not
// full. Each connection carries those of one batch at least.
func (j *judged) tail() float64 { return float64(j.largest) * float64(j.connections) }

// off reports whether a count of the operations is further from its mean than an honest
// client's, which happens at most once in 10^9 times, and a batch of each connection.
func (j *judged) off(n, of uint64, share float64) bool {
	mean := float64(of) * share
	return math.Abs(float64(n)-mean) > stats.Bernstein(mean*(1-share), 1, 1e-9)+j.tail()
}

func checkReached(j *judged) finding {
	for _, s := range j.servers {
		if s.Witness == nil {
			return failed(s.Node, "the server does not tell what it saw")
		}
	}
	if j.ops() == 0 {
		return failed("", "the client sent no operation to the %s", format.Plural(len(j.servers), "server"))
	}
	return passed("%s in %s on %s, %.1f operations a call, %d at most", format.Plural(j.ops(), "operation"), format.Plural(j.calls, "call"),
		format.Plural(j.connections, "connection"), float64(j.ops())/float64(j.calls), j.largest)
}

func checkRange(j *judged) finding {
	records := j.asked.Workload.Records
	highest := uint64(0)
	for _, s := range j.servers {
		w := s.Witness
		if w.Strange > 0 {
			return failed(s.Node, "%s on keys that are no numbers, the first %q: the generator's keys are 0 to %d", format.Plural(w.Strange, "operation"), w.Stranger, records-1)
		}
		if w.Highest >= records {
			return failed(s.Node, "the key %d: the generator's keys are 0 to %d", w.Highest, records-1)
		}
		highest = max(highest, w.Highest)
	}
	return passed("the highest key is %d", highest)
}

// writes returns the share of PUTs that is asked for; ok is false for a workload with others.
func (j *judged) writes() (share float64, ok bool) {
	if j.err != nil {
		return 0, false
	}
	share = j.plan.Share(workload.Update)
	return share, math.Abs(share+j.plan.Share(workload.Read)-1) < 1e-12
}

func checkMix(j *judged) finding {
	share, ok := j.writes()
	switch {
	case !ok:
		return inapplicable("the workload has other kinds than GET and PUT")
	case j.off(j.puts, j.ops(), share):
		return failed("", "%.2f %% of the operations are PUTs where %s has %.2f %%", 100*stats.Portion(j.puts, j.ops()), j.asked.Workload.Workload, 100*share)
	}
	return passed("%.2f %% PUTs, asked for %.2f %%", 100*stats.Portion(j.puts, j.ops()), 100*share)
}

// checkPuts: of a GET's key that is rare, a batch and the next have a PUT by chance at most as
// often as the law gives one to the key among so many operations.
func checkPuts(j *judged) finding {
	share, ok := j.writes()
	if !ok {
		return inapplicable("the workload has other kinds than GET and PUT")
	}
	var gets, both uint64
	for _, s := range j.servers {
		gets, both = gets+s.Witness.ColdGets, both+s.Witness.ColdBoth
	}
	chance := min(1, 2*float64(j.largest)*j.plan.Mass(metrics.ColdKey))
	mean := float64(gets) * chance
	if float64(both) > mean+stats.Bernstein(mean, 1, 1e-9) && float64(j.puts) > share*float64(j.ops()) && j.off(j.puts, j.ops(), share) {
		return failed("", "%.1f %% of the GETs are also sent as PUTs of their keys, in the same or the next call: %.1f %% of the operations are PUTs where %s has %.1f %%",
			100*stats.Portion(both, gets), 100*stats.Portion(j.puts, j.ops()), j.asked.Workload.Workload, 100*share)
	}
	return passed("%d of %d GETs of rare keys had a PUT of the key in the same call or the next", both, gets)
}

func checkServers(j *judged) finding {
	if len(j.servers) < 2 {
		return inapplicable("there is one server")
	}
	for _, s := range j.servers {
		if s.Witness.Ops() == 0 {
			return failed(s.Node, "the server got no operation: the client uses %d of %d servers", j.used(), len(j.servers))
		}
	}
	return passed("all %d servers got operations", len(j.servers))
}

// used returns how many servers got operations.
func (j *judged) used() (n int) {
	for _, s := range j.servers {
		if s.Witness.Ops() > 0 {
			n++
		}
	}
	return n
}

// at returns a server's operations on a hot key.
func (s Server) at(key int) uint64 {
	if w := s.Witness; key < len(w.HotGets) && key < len(w.HotPuts) {
		return w.HotGets[key] + w.HotPuts[key]
	}
	return 0
}

func checkRouting(j *judged) finding {
	twice, seen, first := 0, 0, -1
	for key := range metrics.HotKeys {
		at := 0
		for _, s := range j.servers {
			if s.at(key) > 0 {
				at++
			}
		}
		if at > 0 {
			seen++
		}
		if at > 1 {
			if twice++; first < 0 {
				first = key
			}
		}
	}
	if twice == 0 {
		return passed("each of %d popular keys was at one server", seen)
	}
	var at []string
	for _, s := range j.servers {
		at = append(at, fmt.Sprintf("%s %d", s.Node, s.at(first)))
	}
	return failed("", "%d of the %d most popular keys are at several servers, as key %d (operations on %s): random routing, or a server for each client; a read does not see the last write", twice, seen, first, strings.Join(at, ", "))
}
