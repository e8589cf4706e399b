package cluster

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"kvlab/kvs/cluster/nodes"
	"kvlab/kvs/experiment"
	"kvlab/metrics"
	"kvlab/metrics/format"
)

// SLO is a promise about latency: that a quantile of the operations' latency,
// from the moment when they are due, is at most a limit.
type SLO struct {
	Quantile string // p50, p90, p99, p99.9 or p99.99
	Limit    time.Duration
}

// quantiles are those that a promise can be of.
var quantiles = map[string]func(metrics.Quantiles) *float64{
	"p50":    func(q metrics.Quantiles) *float64 { return q.P50 },
	"p90":    func(q metrics.Quantiles) *float64 { return q.P90 },
	"p99":    func(q metrics.Quantiles) *float64 { return q.P99 },
	"p99.9":  func(q metrics.Quantiles) *float64 { return q.P999 },
	"p99.99": func(q metrics.Quantiles) *float64 { return q.P9999 },
}

// parseSLO reads a promise: "p99=5ms".
func parseSLO(text string) (*SLO, error) {
	name, limit, _ := strings.Cut(text, "=")
	d, err := time.ParseDuration(limit)
	if quantiles[name] == nil || err != nil || d <= 0 {
		return nil, errors.New("want a quantile and a time with its unit, as in p99=5ms; quantiles are p50, p90, p99, p99.9 and p99.99")
	}
	return &SLO{name, d}, nil
}

func (s SLO) String() string { return fmt.Sprintf("%s=%v", s.Quantile, s.Limit) }

// judge says whether a valid open-loop run kept the promise, and why in words. A
// run that cannot tell, for want of calls, is an error.
func (s SLO) judge(run metrics.Run) (kept bool, why string, err error) {
	q := run.Latency[metrics.OpLatency]
	value := quantiles[s.Quantile](q)
	switch {
	case q.Refused != "":
		return false, q.Refused, nil
	case value == nil:
		return false, "", fmt.Errorf("--slo %s: %d calls at %s ops/s are too few for %s: want a longer --secs", s, q.Count, format.Count(run.OpsPerS), s.Quantile)
	}
	got := time.Duration(*value) * time.Microsecond
	return got <= s.Limit, fmt.Sprintf("%s %v", s.Quantile, got), nil
}

// hunt is a search for the highest rate that keeps a promise, as it is carried
// out. What it leaves behind is a sweep over the rates that it tried.
type hunt struct {
	*Launcher
	slo   SLO
	cfg   Config
	nodes []nodes.Node
	dir   folder
	plan  metrics.Sweep
	done  []metrics.Trial
}

// firstRate is where a search begins: a share of what a closed loop makes, which
// is found in the first trial's warm-up.
const firstRate = "50%"

// searchSLO carries out a search.
func (l *Launcher) searchSLO(ctx context.Context, cfg Config, nodes []nodes.Node, args []string) error {
	h := &hunt{Launcher: l, slo: *cfg.Trials.SLO, cfg: cfg, nodes: nodes}
	plan, err := h.planAt(ctx, firstRate)
	if err == nil {
		err = l.Programs.checkArgs(ctx, plan)
	}
	if err != nil {
		return &UsageError{err}
	}
	if cfg.DryRun {
		return plan.print(l.Stdout)
	}
	started := time.Now()
	sums, err := l.Programs.Sums()
	if err != nil {
		return err
	}
	if h.dir, err = createFolder(cfg.Out, started); err != nil {
		return &UsageError{err}
	}
	h.plan = metrics.Sweep{
		ID: h.dir.id(), Started: started, Command: commandLine(args), GitCommit: l.commit(ctx),
		Knobs: []metrics.Knob{{Name: "rate"}}, Programs: sums, Trials: 1, Lab: cfg.lab(),
	}
	return h.conclude(h.run(ctx))
}

// planAt is the plan of a trial at a rate.
func (h *hunt) planAt(ctx context.Context, rate string) (Plan, error) {
	at := h.cfg
	at.ClientArgs = append(append([]string(nil), at.ClientArgs...), "-rate", rate)
	return makePlan(ctx, at.Spec, h.nodes)
}

// run tries rates until the search is over.
func (h *hunt) run(ctx context.Context) (*experiment.Search, error) {
	var search *experiment.Search
	for rate := firstRate; ; {
		run, err := h.try(ctx, rate)
		if err != nil {
			return nil, err
		}
		kept, why, err := h.slo.judge(run)
		if err != nil {
			return nil, err
		}
		offered := run.Offered.OpsPerS
		if search == nil {
			search = experiment.NewSearch(offered)
		}
		search.Learn(offered, kept)
		word := map[bool]string{true: "kept", false: "broken"}[kept]
		fmt.Fprintf(h.Stdout, "trial %d  %.0f op/s offered  %.1f %% achieved  %s: %s\n", len(h.done), offered, 100*run.Offered.Achieved(run.Ops), why, word)
		next, more := search.Next()
		if !more {
			return search, nil
		}
		rate = strconv.FormatFloat(next, 'f', 0, 64)
	}
}

// try makes one trial.
func (h *hunt) try(ctx context.Context, rate string) (metrics.Run, error) {
	number := len(h.done) + 1
	name := fmt.Sprintf("trial-%03d", number)
	dir := folder(h.dir.path(name))
	plan, err := h.planAt(ctx, rate)
	if err == nil {
		err = dir.clear()
	}
	if err != nil {
		return metrics.Run{}, err
	}
	run, err := h.Launcher.trial(ctx, configuration{h.cfg, plan, h.Programs, h.plan.GitCommit}, trialOptions{stderr: h.Stderr}, dir, metrics.Run{ID: h.plan.ID + "/" + name, GitCommit: h.plan.GitCommit, Command: h.plan.Command})
	if errors.Is(err, errInterrupted) {
		return run, err
	}
	if run.Offered != nil {
		rate = strconv.FormatFloat(run.Offered.OpsPerS, 'f', 0, 64)
	}
	trial := metrics.TrialOf(metrics.PlannedTrial{Number: number, Point: []string{rate}}, name, run)
	h.done = append(h.done, trial)
	h.plan.Order = append(h.plan.Order, trial.PlannedTrial)
	h.plan.Knobs[0].Values = append(h.plan.Knobs[0].Values, rate)
	if !run.Verdict.Valid {
		return run, &InvalidError{Verdict: run.Verdict, Err: err}
	}
	return run, h.dir.writeJSON(metrics.TrialsFile, h.done)
}

// conclude writes the sweep and its figures, and prints what was found, the
// verdict last.
func (h *hunt) conclude(search *experiment.Search, ended error) error {
	if len(h.done) > 0 {
		err := errors.Join(h.dir.writeJSON(metrics.SweepFile, h.plan), h.dir.writeJSON(metrics.TrialsFile, h.done))
		if err == nil {
			h.picture(h.drawMany, h.dir)
		}
		ended = cmp.Or(ended, err)
	}
	verdict := valid
	var failed *InvalidError
	switch {
	case errors.As(ended, &failed):
		verdict = failed.Verdict
	case ended != nil:
		verdict = verdictOf(ended)
	default:
		fmt.Fprintf(h.Stdout, "\n%s\n", h.found(search))
	}
	fmt.Fprintf(h.Stdout, "logs %s\nverdict %s\n", h.dir, verdict)
	if verdict.Valid {
		return nil
	}
	return &InvalidError{Verdict: verdict, Err: ended}
}

// found says what the search has come to.
func (h *hunt) found(search *experiment.Search) string {
	kept, broken := search.Found()
	switch {
	case kept == 0:
		return fmt.Sprintf("slo %s: broken at every rate down to %.0f op/s", h.slo, broken)
	case broken == 0:
		return fmt.Sprintf("slo %s: kept at every rate up to %.0f op/s", h.slo, kept)
	}
	return fmt.Sprintf("slo %s: kept at %.0f op/s, broken at %.0f op/s", h.slo, kept, broken)
}
