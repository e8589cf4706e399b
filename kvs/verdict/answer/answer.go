// Package answer says what a run or the trials of an experiment came to, for people: the
// terminal and the report print the same. It is pure.
package answer

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"kvlab/kvs/verdict"
	"kvlab/kvs/verdict/claimed"
	"kvlab/kvs/verdict/recorded"
	"kvlab/metrics"
	"kvlab/metrics/format"
	"kvlab/metrics/stats"
)

// Answer is a result in a reader's order, in words that the terminal and the report share.
// Its sentences have no full stop. A part that is empty has nothing to say.
type Answer struct {
	Verdict  string `json:"verdict,omitempty"` // "VALID", "VALID, with 2 caveats", "INVALID"
	Good     bool   `json:"-"`
	Left     int    `json:"trials_left,omitempty"` // that are still to be made
	Headline string `json:"headline"`              // the result, or why there is none
	Basis    string `json:"basis,omitempty"`       // what the headline is computed from
	Rate     string `json:"rate,omitempty"`        // why total and the servers' medians differ
	Latency  string `json:"latency,omitempty"`
	Commits  string `json:"commits,omitempty"` // of transactions, and what was aborted
	Bytes    string `json:"bytes,omitempty"`   // what its calls carried
	Restart  string `json:"restart,omitempty"` // what the kill of a server cost

	Stages []metrics.Stage `json:"stages,omitempty"` // of an open loop whose rate has stages

	Checked string   `json:"checked,omitempty"` // what was checked
	Limit   string   `json:"limit,omitempty"`   // what limits the result
	Caveats []Caveat `json:"caveats"`
	Next    string   `json:"next,omitempty"` // what to do next
}

// Caveat weakens a VALID result.
type Caveat struct {
	Name string `json:"name"` // one for each kind, such as CLIENT-BOUND
	Text string `json:"text"`
	Do   string `json:"do"` // what to do about it
}

// String returns the caveat as a sentence, with what to do.
func (r Caveat) String() string {
	return fmt.Sprintf("%s: %s (%s)", r.Text, strings.ToLower(r.Do[:min(1, len(r.Do))])+r.Do[min(1, len(r.Do)):], r.Name)
}

// Of returns the answer of one run that was judged.
func Of(run metrics.Run) Answer {
	if !run.Verdict.Stands() {
		a := Answer{Verdict: "INVALID", Headline: because(run.Verdict), Next: cmp.Or(claimed.Advice(run.Verdict.Check), inspect(run))}
		if run.Verdict.Check == verdict.Ceiling {
			a.Basis, a.Limit = fmt.Sprintf("%s ops/s without a store", format.Count(run.OpsPerS)), limitOf(run)
			a.Next = "choose an -engine that stores, for a result"
		}
		return a
	}
	a := Answer{Good: true, Caveats: caveatsOf(run), Rate: Rate(run), Latency: latencyOf(run), Commits: Commits(run), Bytes: Bytes(run), Stages: run.Stages, Checked: checkedOf(run), Limit: limitOf(run)}
	a.Verdict = with(run.Verdict.Word(), len(a.Caveats))
	if run.Restart != nil {
		a.Restart = run.Restart.String()
	}
	a.Headline = rateOn(run.OpsPerS, run.Store)
	a.Basis = basisOn(fmt.Sprintf("%s operations in %s s", format.Count(float64(run.Ops)), format.Tenths(run.WindowS)), run.Durability)
	if run.HostsClient() {
		a.Basis, a.Checked = claimed.Words(run)
	}
	a.Next = "add --trials 6, for a median with its 95 % interval"
	if run.Nodes != nil && run.Nodes[0].Soak != nil {
		a.Next = "read the soak's figure in the report: flat lines are good"
	}
	return a
}

// rateOn returns a rate, and on which store unless that is kvlab's own.
func rateOn(opsPerS float64, store *metrics.Store) string {
	text := format.Count(opsPerS) + " ops/s"
	if store != nil {
		text += " on " + store.Title()
	}
	return text
}

// basisOn returns a basis with what an engine on disk promises.
func basisOn(basis, durability string) string {
	return strings.Join(format.NonEmpty(basis, durability), "; ")
}

// with returns a verdict's word with a number of caveats.
func with(word string, caveats int) string {
	if caveats == 0 {
		return word
	}
	return word + ", with " + format.Plural(caveats, "caveat")
}

// because returns the reason of a verdict in words.
func because(v metrics.Verdict) string {
	if v.Node == "" {
		return v.Reason
	}
	return v.Reason + " (" + v.Node + ")"
}

// inspect names the log to read after a run that is INVALID because of a node.
func inspect(run metrics.Run) string {
	for _, node := range run.Nodes {
		if node.Name == run.Verdict.Node {
			return fmt.Sprintf("read kvs%s-%s.log; docs/measuring.md explains each check", node.Role, node.Name)
		}
	}
	return ""
}

// Rate compares the window's mean, which is total, with the sum of the servers' medians,
// which the labs' report-tput.py prints; "" without medians, and of a load in stages. The mean of a run that
// ends with its operations it compares with the sum of the workers' rates, each to its own last reply.
func Rate(run metrics.Run) string {
	if all := run.WorkersOpsPerS; all > 0 {
		return fmt.Sprintf("from the common start to the last reply; each worker to its own: %s (%+.1f %%)", format.Count(all), 100*(all/run.OpsPerS-1))
	}
	sum := 0.0
	for _, server := range run.Servers() {
		if server.MedianOpsPerS == nil {
			return ""
		}
		sum += *server.MedianOpsPerS
	}
	if sum == 0 || run.OpsPerS == 0 || run.Stages != nil { // slow seconds are asked for
		return ""
	}
	return fmt.Sprintf("a mean; the servers' medians skip slow seconds: %s (%+.1f %%)",
		format.Count(sum), 100*(sum/run.OpsPerS-1))
}

// Commits says how many transactions were committed, how often and why attempts were aborted
// meanwhile, and how many commits touched one server; "" without transactions. Each commit has
// the same number of operations, so its rate is that of the operations.
func Commits(run metrics.Run) string {
	t := run.Transactions
	if t == nil || t.Commits == 0 || t.Ops == 0 || len(t.Retries) == 0 {
		return ""
	}
	commits := float64(t.Commits)
	text := fmt.Sprintf("%s/s of %d operations, %.3g aborts a commit", format.Count(run.OpsPerS*commits/float64(t.Ops)), run.Workload.Txn(), float64(t.Aborted())/commits)
	var why []string
	for _, reason := range slices.Sorted(maps.Keys(t.Aborts)) {
		why = append(why, fmt.Sprintf("%s %.3g", reason, float64(t.Aborts[reason])/commits))
	}
	if why != nil {
		text += " (" + strings.Join(why, ", ") + ")"
	}
	if t.Unknown > 0 {
		text += fmt.Sprintf(", %d unknown", t.Unknown)
	}
	return text + fmt.Sprintf("; %.3g %% were tried again, %.3g %% touched one server; latency counts from the first attempt", 100-100*float64(t.Retries[0])/commits, 100*float64(t.Single)/commits)
}

// Bytes says what an operation had in batches and in replies, and which setting spared
// some of it; "" of a foreign store, whose protocol is another one.
func Bytes(run metrics.Run) string {
	sent, received := run.BytesPerOp()
	if run.Store != nil || sent == 0 {
		return ""
	}
	text := fmt.Sprintf("%.1f sent and %.1f received for an operation", sent, received)
	switch {
	case run.Workload.Caches():
		text += fmt.Sprintf("; -cache %s: %s a client", run.Workload.Cache(), format.Bytes(run.Summaries(metrics.Client)[0].CacheBytes))
	case run.Workload.Dedup():
		text += "; -dedup"
	}
	return text
}

// checkedOf says what was checked and found right.
func checkedOf(run metrics.Run) string {
	var v metrics.Verification
	loaded := uint64(0)
	for _, client := range run.Summaries(metrics.Client) {
		v.Add(client.Verification)
		for _, peer := range client.Peers {
			loaded += peer.Load.Puts
		}
	}
	parts := []string{countsOf(run)}
	if all := run.Workload.Ops(); all > run.Ops {
		parts = append(parts, fmt.Sprintf("the first %s of %s operations, until -secs were over", format.Count(float64(run.Ops)), format.Count(float64(all))))
	}
	if run.Workload.TTL() > 0 && run.Skew != nil {
		parts = append(parts, fmt.Sprintf("%.1f %% of the reads found their key, as keys expire", 100*run.Skew.HitRate))
	}
	if run.Skew != nil && run.Skew.TopShare == 0 {
		parts = append(parts, "not the shares of keys and servers, which are not fixed")
	}
	parts = append(parts, Differences(run.Skew)...)
	if loaded > 0 {
		parts = append(parts, fmt.Sprintf("%s records read back", format.Count(float64(loaded))))
	}
	if v.Checked > 0 {
		parts = append(parts, fmt.Sprintf("%s values right", format.Count(float64(v.Checked))))
	}
	if run.Total.Scans > 0 {
		parts = append(parts, fmt.Sprintf("%s scans right", format.Count(float64(run.Total.Scans))))
	}
	for _, serial := range []bool{false, true} {
		if all, _, _ := recorded.Of(&run, serial); all.Ops > 0 {
			parts = append(parts, recorded.Right(all))
		}
	}
	if run.Audit != nil {
		parts = append(parts, fmt.Sprintf("%s keys audited", format.Count(float64(run.Audit.Keys))))
	}
	if run.Nodes != nil && run.Nodes[0].Soak != nil {
		parts = append(parts, fmt.Sprintf("no process grew in %.0f s", run.Nodes[0].Soak.LengthS))
	}
	if run.Store != nil {
		parts = append(parts, "not "+strings.Join(run.Store.Missing, " and "))
	}
	if len(run.Beside) > 0 {
		parts = append(parts, format.Named(run.Beside)+" of others not counted")
	}
	if run.StrangerReads > 0 {
		parts = append(parts, fmt.Sprintf("%s reads of third-party clients not counted", format.Count(float64(run.StrangerReads))))
	}
	return strings.Join(parts, ", ")
}

// countsOf says how strongly the counts of both sides were compared.
func countsOf(run metrics.Run) string {
	switch run.Counting {
	case metrics.CountsNone:
		return "counts none, as no counters of the store are compared"
	case metrics.CountsBounded:
		if run.Restart != nil {
			return "counts bounded, as a server was killed, and not its window"
		}
		return "counts bounded, as connections broke"
	}
	return "counts exact, client and server"
}

// limitOf returns what limits a run, in short, and how much more the same clients do without a store.
func limitOf(run metrics.Run) string {
	var parts []string
	if b := run.Bottleneck; b != nil {
		parts = append(parts, b.Cause(), b.Advice)
	}
	parts = append(parts, run.Ceiling.Share())
	if c := run.Ceiling; run.Store != nil && c != nil && c.Tried && c.NullOpsPerS == 0 {
		parts = append(parts, c.Note)
	}
	return strings.Join(format.NonEmpty(parts...), "; ")
}

// Names of caveats.
const (
	Quick   = "QUICK"          // of a run that is never ranked against others
	Crowded = "OTHER WORK"     // of one that other processes disturbed
	Drifted = "NON-STATIONARY" // of one whose rate drifted before its window

	saturated  = "SATURATED"   // of an open loop whose offered rate was not achieved
	FewRecords = "FEW RECORDS" // of a workload whose rounds repeat keys
)

// caveatsOf lists what weakens a VALID run, the gravest first.
func caveatsOf(run metrics.Run) (all []Caveat) {
	add := func(holds bool, name, do, layout string, args ...any) {
		if holds {
			all = append(all, Caveat{Name: name, Text: fmt.Sprintf(layout, args...), Do: do})
		}
	}
	add(run.Quick, Quick, "leave out --quick for a number to keep", "the run was a short look, with few records")
	add(run.Offered.Saturated(run.Ops) != "", saturated, "offer a lower -rate", "the store did not keep up: %.1f %% of the offered rate", 100*run.Offered.Achieved(run.Ops))
	// So many operations have fewer keys: by the pigeonhole principle some repeat one.
	records, round := run.Workload.Records(), run.Workload.Batch()*uint64(len(run.Servers()))
	repeats := records > 0 && round > records && run.Workload["replay"] == "" && !run.Workload.Open() // a trace has its own keys; an open loop sends what is due
	add(repeats, FewRecords, "use more -records, or a smaller -batch", "a round has %d operations on %d records: its calls repeat keys", round, records)
	if c := run.Ceiling; c != nil {
		add(c.ClientBound, "CLIENT-BOUND", "use more client nodes, or larger batches", "the same clients reach only %.2fx this rate without a store", c.Headroom)
		add(c.NotUsable, "NO CEILING", "measure longer, with --secs 30", "the ceiling is too noisy: it is below the result, measured twice")
	}
	if w := run.WarmUp; w != nil {
		add(!w.Stationary, Drifted, "double -warmup", "the rate drifted by %+.1f %% in the last %d s of the warm-up", 100*w.DriftShare, w.Seconds)
	}
	add(run.Unrecovered != "", "NOT RECOVERED", "look for queues, retries or caches that keep the store slow after a burst", "the store has not recovered: %s", run.Unrecovered)
	if b := run.Bottleneck; b != nil {
		add(b.Kind == metrics.LimitOther, Crowded, "end it, or compare by --ab --together", "other processes took %.0f %% of the processors of %s", b.Figures.OtherCPUPercent, b.Figures.OtherCPUNode)
	}
	for _, grown := range memoryGrowth(run) {
		add(true, "MEMORY", "look for what the store keeps of each request, with --soak 30m", "%s", grown)
	}
	for _, c := range run.Checks {
		add(c.Outcome == metrics.CheckDoubted, strings.ToUpper(c.ID), strings.TrimSuffix(cmp.Or(claimed.Advice(c.ID), verdict.Advice(metrics.Verdict{Check: c.ID})), "."), "%s", c.Evidence)
	}
	add(slices.ContainsFunc(run.Nodes, func(n metrics.RunNode) bool { return n.Config != nil && n.Config.Flags.Profiled() }), "PROFILED", "leave out --profile for a number to keep", "the processes were profiled, which costs processor time")
	if run.Restart != nil {
		add(true, "RESTARTED", "leave out --restart-at for a number to rank", "a server was killed in the window")
	} else if r := run.Retries; r != nil {
		add(true, "RETRIES", "see the clients' logs", "%s", r)
	}
	if step := run.Preflight.StepText(); step != "" {
		add(true, "CLOCK SET", "let chrony or ntpd slew", "%s", step)
	}
	all = append(all, findingsOf(run)...)
	add(run.Lab != nil, "LAB", "use a real cluster for a number to publish", "the hosts were virtual, on one machine")
	add(run.Lab == nil && oneMachine(run.Nodes), "ONE MACHINE", "use --nodes for a number to publish, or --ab to compare here", "servers and clients shared one machine")
	return all
}

// OfMachine reports whether a caveat is of the machine that measured: other work there,
// the drift of a rate, and what the preflight found.
func OfMachine(run metrics.Run, r Caveat) bool {
	return slices.Contains([]string{Crowded, Drifted, "DRIFT"}, r.Name) ||
		run.Preflight != nil && slices.ContainsFunc(run.Preflight.Findings, func(f metrics.Finding) bool { return f.Fact == r.Name })
}

// findingsOf has a caveat for each kind of warning that the preflight gave.
func findingsOf(run metrics.Run) (all []Caveat) {
	if run.Preflight == nil {
		return nil
	}
	nodes := map[string]int{} // with a finding of the kind
	for _, f := range run.Preflight.Findings {
		if nodes[f.Fact]++; nodes[f.Fact] > 1 {
			continue
		}
		do := "see docs/cluster.md"
		if f.Type != "" {
			do = "type " + f.Type
		}
		all = append(all, Caveat{Name: f.Fact, Text: format.OneLine(strings.Join(format.NonEmpty(f.Node, f.Text), ": ")), Do: do})
	}
	for i, r := range all {
		if n := nodes[r.Name]; n > 1 {
			all[i].Text += fmt.Sprintf(", and likewise on %s", format.Plural(n-1, "other node"))
		}
	}
	return all
}

// oneMachine reports whether all of several nodes say that they were on the same
// machine.
func oneMachine(nodes []metrics.RunNode) bool {
	return len(nodes) > 1 && !slices.ContainsFunc(nodes, func(node metrics.RunNode) bool {
		return node.Config == nil || node.Elsewhere() || node.Config.Host.Hostname == "" || node.Config.Host.Hostname != nodes[0].Config.Host.Hostname
	})
}

// heapGrowth is how much Go's heap grows beside what lives in it, before it is collected
// (GOGC 100, package runtime).
const heapGrowth = 2

// memoryGrowth says of each foreign store's process whose memory grew in the window how much:
// by more than a heap may, with the calls in flight and what was inserted in it.
func memoryGrowth(run metrics.Run) (grown []string) {
	added := 0.0 // bytes
	for _, s := range run.Summaries(metrics.Client) {
		b, c := s.BytesInWindow, s.InWindow
		added += stats.Portion(float64(b.Sent+b.Received), float64(c.Calls)) * float64(run.Workload.Workers()*run.Workload.InFlight())
		added += stats.Portion(float64(b.Sent), float64(c.Writes())) * float64(c.Inserts)
	}
	for _, node := range run.Servers() {
		if node.Summary == nil || node.Summary.Saturation == nil || !node.Foreign() {
			continue
		}
		p := node.Summary.Saturation
		if float64(p.ProcessRSSBytes) > heapGrowth*(float64(p.OpeningRSSBytes)+added) && p.OpeningRSSBytes > 0 {
			grown = append(grown, fmt.Sprintf("the store's memory on %s grew from %s to %s in the window", node.Name, format.Bytes(p.OpeningRSSBytes), format.Bytes(p.ProcessRSSBytes)))
		}
	}
	return grown
}
