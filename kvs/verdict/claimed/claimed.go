// Package claimed holds what a team's own system claims against what cannot be otherwise. It is
// pure. It proves a claim wrong, and never right.
package claimed

import (
	"fmt"
	"slices"
	"strings"

	"kvlab/kvs/verdict/witness"
	"kvlab/metrics"
	"kvlab/metrics/format"
)

// Check is a row of the table of checks.
type Check struct {
	ID      string // metrics.Verdict.Check names the row that refutes a claim
	Meaning string // what holds of a claim that passes
	Advice  string // what to do about one that does not
	Func    func(*system) metrics.CheckResult
}

const look = "The client counts what it has not done: look at where it counts, and whether it waits for every answer."

// Checks is the table of checks.
var Checks = []Check{
	{"claim-reports", "every node reports", "A process ended early, or answers no more: read its log.", checkReports},
	{"claim-lines", "every client says its operations per second", "Its output has no line of the form that result gives in its file: read its log in the run's folder.", checkLines},
	{"claim-never-waits", "the clients claim no more than the servers' lines tell of, where nobody waited for the answers", "The client counts what it sends: it must have an operation's answer before it counts.", checkWaits},
	{"claim-above-servers", "the clients claim no more than the servers' own lines tell of", look, checkServers},
	{"claim-above-wire", "the connections carried as many bytes as the claimed operations need", look, checkWire},
	{"claim-above-processors", "the clients had processor time for the claimed operations", look, checkProcessors},
	{"claim-longer-than-run", "the claimed seconds are no longer than the program's life", "The client ended before its {secs}, and claims a rate of all of them.", checkTime},
}

// system is a run with what its programs claim.
type system struct {
	metrics.Run
	clients, servers []metrics.RunNode
	secs             float64 // of every client's run, as it was told
	ops              float64 // that the clients claim together in that time
}

func systemOf(run *metrics.Run) *system {
	s := &system{Run: *run, clients: run.Clients(), servers: run.Servers(), secs: max(0, run.Settings(metrics.Client).Secs().Seconds())}
	for _, node := range s.clients {
		if node.Summary != nil && node.Summary.Claim != nil {
			s.ops += node.Summary.Claim.OpsPerS * s.secs
		}
	}
	return s
}

// Judge makes the checks of a run whose clients are a team's own, and returns its verdict. What
// the clients claim of kvlab's servers is held against what these saw.
func Judge(run *metrics.Run) metrics.Verdict {
	if !run.IsClaimed() {
		return judgeClient(run)
	}
	s := systemOf(run)
	run.Checks = nil
	for _, row := range Checks {
		found := row.Func(s)
		if found.ID = row.ID; found.Outcome == metrics.CheckFailed {
			run.Checks = append(run.Checks, found)
			return metrics.Verdict{Check: row.ID, Node: found.Node, Reason: row.ID + ": " + found.Evidence}
		}
		run.Checks = append(run.Checks, found)
	}
	return metrics.Verdict{Claimed: true}
}

// Word says in a few words what was checked of a run whose clients are a team's own.
func Word(run metrics.Run) string {
	if run.IsClaimed() {
		return "as its clients claim, and nothing refutes it"
	}
	return "with what the client sent, as the servers saw it"
}

// Words says what a claim is worth: its lines, and what was held against it.
func Words(run metrics.Run) (basis, checked string) {
	if !run.IsClaimed() {
		return witness.Claim(seen(run)), "what the client sent, as the servers saw it"
	}
	var lines, held []string
	for _, node := range run.Clients() {
		if node.Summary != nil && node.Summary.Claim != nil {
			lines = append(lines, fmt.Sprintf("%q", format.Label(node.Summary.Claim.Line, 60)))
		}
	}
	not := []string{Irrefutable}
	for _, c := range run.Checks {
		switch {
		case c.Outcome == metrics.CheckPassed:
			held = append(held, c.Evidence)
		case c.Outcome == metrics.CheckInapplicable && !slices.Contains(not, c.Evidence):
			not = append(not, c.Evidence)
		}
	}
	return "as its clients claim, and nobody has verified: " + strings.Join(lines, ", "),
		"nothing refutes it: " + strings.Join(held, "; ") + "; not seen: " + strings.Join(not, "; ")
}

// Advice says what to do about a check of this package that failed or doubts; "" for another's.
func Advice(id string) string {
	for _, row := range Checks {
		if row.ID == id {
			return row.Advice
		}
	}
	for _, row := range witness.Checks {
		if row.ID == id {
			return row.Advice
		}
	}
	return ""
}

// Table returns both tables of checks in Markdown: of a team's client against kvlab's servers, and
// of a team's system.
func Table() string {
	var table strings.Builder
	row := func(cells ...string) {
		table.WriteString("| `" + cells[0] + "` | " + cells[1] + " | " + cells[2] + " |\n")
	}
	table.WriteString("| check | of a VALID client | else |\n|---|---|---|\n")
	for _, c := range witness.Checks {
		row(c.ID, c.Meaning, c.Advice)
	}
	table.WriteString("\n| check | of a CLAIMED system | else |\n|---|---|---|\n")
	for _, c := range Checks {
		row(c.ID, c.Meaning, c.Advice)
	}
	return table.String()
}

func found(outcome metrics.CheckOutcome, node, layout string, args ...any) metrics.CheckResult {
	return metrics.CheckResult{Outcome: outcome, Node: node, Evidence: fmt.Sprintf(layout, args...)}
}

// checkReports: every node has reported.
func checkReports(s *system) metrics.CheckResult {
	for _, node := range s.Nodes {
		if node.Summary == nil || node.Summary.Claim == nil {
			return found(metrics.CheckFailed, node.Name, "%s sent no summary", node.Role)
		}
	}
	return found(metrics.CheckPassed, "", "%s reported", format.Plural(len(s.Nodes), "node"))
}

// checkLines: every client says its result.
func checkLines(s *system) metrics.CheckResult {
	for _, node := range s.clients {
		switch c := node.Summary.Claim; {
		case c.Lines > 0:
		case c.Result != "":
			return found(metrics.CheckFailed, node.Name, "no line matches the file's result = %q: %s", c.Result, ended(node))
		default:
			return found(metrics.CheckFailed, node.Name, `no line is "throughput N", and the file has no result, such as result = "throughput ([0-9.]+)": %s`, ended(node))
		}
	}
	return found(metrics.CheckPassed, "", "the clients claim %s operations in %g s", format.Count(s.ops), s.secs)
}

// ended says how a client ended, and names the file of its output.
func ended(node metrics.RunNode) string {
	c, last := node.Summary.Claim, "it is empty"
	if c.Line != "" {
		last = fmt.Sprintf("its last line is %q", c.Line)
	}
	if c.Lines > 0 {
		last = fmt.Sprintf("it claims %q", c.Line)
	}
	return fmt.Sprintf("%s: the client ended after %.1f s with exit status 0, and %s", metrics.OutputFile(metrics.Client, node.Name), c.RanS, last)
}

// told returns the operations that the servers' lines tell of at most; false without lines of
// every server.
func (s *system) told() (most float64, ok bool) {
	for _, node := range s.servers {
		c := node.Summary.Claim
		if c.Lines == 0 {
			return 0, false
		}
		most += float64(c.Most)
	}
	return most, len(s.servers) > 0
}

// carried returns what the connections carried, as the clients' kernels tell; false where one does
// not. Clients of one machine see the same connections.
func (s *system) carried() (all metrics.Carried, ok bool) {
	of := map[string]metrics.Carried{}
	for _, node := range s.clients {
		c := node.Summary.Claim.Carried
		if c == nil {
			return all, false
		}
		if c.Sent >= of[node.Machine].Sent {
			of[node.Machine] = *c
		}
	}
	for _, c := range of {
		all.Connections += c.Connections
		all.Sent += c.Sent
		all.Received += c.Received
		all.Unread += c.Unread
		all.Unsent += c.Unsent
	}
	return all, true
}

// checkWaits: a claim above the servers' lines, of clients that left answers unread, or whose
// operations the servers still executed when no client was there any more.
func checkWaits(s *system) metrics.CheckResult {
	most, ok := s.told()
	if !ok {
		return found(metrics.CheckInapplicable, "", "the servers print no operations per second")
	}
	after := 0.0
	for _, node := range s.servers {
		after += node.Summary.Claim.After
	}
	carried, _ := s.carried()
	if left := carried.Unread + carried.Unsent; s.ops > most && (left > 0 || after > 0) {
		return found(metrics.CheckFailed, "", "the clients claim %s operations, and the servers' lines tell of %s at most; when the clients had ended, the servers still executed %s operations a second, and %d bytes were left unread",
			format.Count(s.ops), format.Count(most), format.Count(after), left)
	}
	return found(metrics.CheckPassed, "", "when the clients had ended, the servers executed %s operations a second", format.Count(after))
}

// checkServers: the clients claim no more than the servers' lines tell of.
func checkServers(s *system) metrics.CheckResult {
	most, ok := s.told()
	switch {
	case !ok:
		return found(metrics.CheckInapplicable, "", "the servers print no operations per second")
	case s.ops > most:
		return found(metrics.CheckFailed, "", "the clients claim %s operations, and the servers' lines tell of %s at most", format.Count(s.ops), format.Count(most))
	}
	return found(metrics.CheckPassed, "", "claimed %s, the servers' lines tell of %s at most", format.Count(s.ops), format.Count(most))
}

// checkWire: a request that is not compressed has a byte at least for each of its operations. Each
// form of the course has more than 8: a key, and what tells a read from a write.
func checkWire(s *system) metrics.CheckResult {
	carried, ok := s.carried()
	switch {
	case !ok:
		return found(metrics.CheckInapplicable, "", "the clients' kernel does not tell what their connections carried")
	case s.ops > float64(carried.Sent):
		return found(metrics.CheckFailed, "", "the clients claim %s operations, and sent %s on %s", format.Count(s.ops), format.Bytes(carried.Sent), format.Plural(carried.Connections, "connection"))
	}
	return found(metrics.CheckPassed, "", "%.1f bytes sent and %.1f received for an operation", float64(carried.Sent)/max(1, s.ops), float64(carried.Received)/max(1, s.ops))
}

// cycle is the shortest time of one operation of a processor: none runs at more than 10 GHz.
const cycle = 1e-10

// checkProcessors: an operation is at least one cycle of its client's processor.
func checkProcessors(s *system) metrics.CheckResult {
	for _, node := range s.clients {
		c := node.Summary.Claim
		if claims := c.OpsPerS * s.secs; claims*cycle > c.CPUS {
			return found(metrics.CheckFailed, node.Name, "%s operations in %.3f s of processor time", format.Count(claims), c.CPUS)
		}
	}
	used := 0.0
	for _, node := range s.clients {
		used += node.Summary.Claim.CPUS
	}
	return found(metrics.CheckPassed, "", "%.0f ns of the clients' processors an operation", 1e9*used/max(1, s.ops))
}

// checkTime: a client lives as long as it was to run.
func checkTime(s *system) metrics.CheckResult {
	for _, node := range s.clients {
		if c := node.Summary.Claim; c.RanS < s.secs {
			return found(metrics.CheckFailed, node.Name, "the client ran %.2f s, and was to run %g s", c.RanS, s.secs)
		}
	}
	return found(metrics.CheckPassed, "", "every client ran %g s at least", s.secs)
}

// Irrefutable says what no check can see, for the answer.
const Irrefutable = "what a read returned, which keys were asked, whether every operation was executed once, and a rate below what the servers' lines allow"
