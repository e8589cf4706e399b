package foldertest

import (
	"cmp"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"kvlab/metrics"
)

// ClassPlan describes a class to make up. Of its entries the first is the reference, the
// last two are INVALID: one loses keys from its second round on, the last is not built.
type ClassPlan struct {
	ID        string
	Names     []string
	Rounds    int    // complete ones; the ranks are decided from the sixth on
	Ended     string // as in Standings
	Gradebook *metrics.Gradebook
	Seed      uint64
}

// factors are the true ratios of a class's entries: equal ones by threes.
var factors = []float64{1, 2.2, 1.52, 1.52, 1.52, 1.2, 1.2, 1.2, 0.84, 0.8, 0.8, 0.8}

// CompilersLines are those of the entry that is not built.
const CompilersLines = "build: kvs/engine/mine.go:12:2: undefined: <atomic> | kvs/engine/mine.go:40:9: missing return"

// MakeClass makes up a class and writes its folder below root.
func MakeClass(t testing.TB, root string, p ClassPlan) string {
	t.Helper()
	broken, lossy := p.Names[len(p.Names)-1], p.Names[len(p.Names)-2]
	measured := p.Names[:len(p.Names)-1]
	ratios := make(map[string]float64)
	for i, name := range measured {
		ratios[name] = factors[i%len(factors)]
	}
	dir := MakeSweep(t, root, SweepPlan{ID: p.ID, Knobs: []metrics.Knob{Knob(metrics.EntryKnob, measured...)}, Trials: max(1, p.Rounds), Law: Law{1e6, 0, 0},
		Factor: ratios, Noise: 0.012, Seed: p.Seed})
	sweep, trials, err := metrics.ReadSweep(dir)
	if err != nil {
		t.Fatal(err)
	}
	sweep.Command = []string{"kvscluster", "grade", "class <1>.toml"}
	sweep.Class = &metrics.Class{Title: "KV lab 2 <b>&", Reference: p.Names[0], Alpha: 0.05, Looks: []int{6, 10, 16, 24}, Equal: 0.02, BudgetS: 5400, Precision: 5, Allow: []string{"ONE MACHINE"},
		Score: []metrics.ScoreStep{{Ratio: 0.5, Percent: 60}, {Ratio: 1, Percent: 80}, {Ratio: 2, Percent: 100}}, Gradebook: p.Gradebook}
	for i, name := range p.Names {
		e := metrics.Entry{Name: name, Kind: metrics.CheckoutEntry, From: "subs/" + name, Args: "server:/subs/x --batch 512"}
		switch {
		case i == 0:
			e.Kind, e.From = metrics.RevisionEntry, "HEAD"
		case name == broken:
			e.Broken = CompilersLines
		case i%2 == 0:
			e.Students = []string{fmt.Sprintf("s%d", i), fmt.Sprintf("s%d@example.edu", i)}
		}
		sweep.Class.Entries = append(sweep.Class.Entries, e)
	}
	if p.Rounds == 0 {
		trials = nil
	}
	for i := range trials {
		trial := &trials[i]
		trial.Round = i/len(measured) + 1
		folder := filepath.Join(dir, trial.Folder)
		run := trialOfClass(t, folder, trial.Point[0] == lossy && trial.Round > 1, trial.Point[0] != p.Names[0])
		*trial = metrics.TrialOf(trial.PlannedTrial, trial.Folder, run)
	}
	for i := range sweep.Order {
		sweep.Order[i].Round = i/len(measured) + 1
	}
	WriteJSON(t, filepath.Join(dir, metrics.SweepFile), sweep)
	WriteJSON(t, filepath.Join(dir, metrics.TrialsFile), trials)
	if p.Rounds > 0 {
		WriteJSON(t, filepath.Join(dir, metrics.StandingsFile), standingsOf(p, trials))
	}
	return dir
}

// trialOfClass completes a trial's run.json, and adds the log of its server.
func trialOfClass(t testing.TB, folder string, lossy, stranger bool) (run metrics.Run) {
	t.Helper()
	if err := metrics.ReadJSON(filepath.Join(folder, "run.json"), &run); err != nil {
		t.Fatal(err)
	}
	if lossy {
		run.Verdict = metrics.Verdict{Check: "misses", Reason: "3 misses in the window after a full load: data was lost, or expired", Node: "node0"}
		log := "loaded 100000 records\npanic: <script>alert(2)</script> at key 77\n\x1b[2J\x00\xffgoodbye\n"
		if err := os.WriteFile(filepath.Join(folder, "kvsserver-node0.log"), []byte(log), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if stranger {
		run.Contained = &metrics.Containment{Limits: "memory=2GB,processes=256", Walls: []metrics.Wall{{Name: "memory", Held: true}, {Name: "processes", Held: true},
			{Name: "network", Held: true}, {Name: "disk", Why: "no tmpfs can be mounted without root"}}}
	}
	p50, p99 := 8e10/run.OpsPerS, 2e11/run.OpsPerS
	run.Latency = map[string]metrics.Quantiles{metrics.CallLatency: {Count: 1e5, P50: &p50, P99: &p99}}
	run.Bottleneck = &metrics.Bottleneck{Kind: metrics.LimitServerCPU, Node: "node0", Why: "97 % on node0", Sentence: "limited by server CPU: 97 % on node0; client CPU 41 % on node1"}
	node := fixture[metrics.Run]("run.json").Nodes[0]
	for i := range run.Nodes {
		run.Nodes[i].Config = node.Config
		run.Nodes[i].Config.Host.Hostname = "lab-1"
	}
	WriteJSON(t, filepath.Join(folder, "run.json"), run)
	return run
}

// standingsOf ranks the entries of a class by intervals that are wide enough for a picture.
func standingsOf(p ClassPlan, trials []metrics.Trial) metrics.Standings {
	s := metrics.Standings{Rounds: p.Rounds, Ended: p.Ended}
	if p.Rounds >= 6 {
		s.Deciding = p.Rounds
	}
	half := 0.04 / math.Sqrt(float64(p.Rounds))
	means := meansOf(p, trials)
	ranked := p.Names[1 : len(p.Names)-2]
	for i, name := range p.Names {
		mean := means[name]
		x := metrics.Standing{Entry: name, Verdict: metrics.Verdict{Valid: true}, OpsPerS: 2e6 * math.Exp(mean), Ratio: math.Exp(mean), RatioLow: math.Exp(mean - half), RatioHigh: math.Exp(mean + half), Valid: p.Rounds}
		score := func(ratio float64) float64 { return 60 + 40*min(max(ratio-0.5, 0), 0.5) + 20*min(max(ratio-1, 0), 1) }
		x.Score, x.ScoreLow, x.ScoreHigh = score(x.Ratio), score(x.RatioLow), score(x.RatioHigh)
		switch {
		case i == 0:
			x.RatioLow, x.RatioHigh = 1, 1
		case i >= len(p.Names)-2:
			x = failed(name, trials)
		default:
			x.Rank, x.RankLow, x.RankHigh = 1, 1, len(ranked)
			for _, other := range ranked {
				if d := means[other] - mean; s.Deciding > 0 && d > 1.5*half {
					x.Faster, x.Rank, x.RankLow = append(x.Faster, other), x.Rank+1, x.RankLow+1
				} else if s.Deciding > 0 && d < -1.5*half {
					x.Slower, x.RankHigh = append(x.Slower, other), x.RankHigh-1
				}
			}
		}
		s.Entries = append(s.Entries, x)
	}
	order := func(x metrics.Standing) int { return cmp.Or(x.Rank, len(p.Names)) }
	slices.SortStableFunc(s.Entries, func(a, b metrics.Standing) int {
		return cmp.Or(cmp.Compare(order(a), order(b)), -cmp.Compare(a.Ratio, b.Ratio))
	})
	return s
}

// meansOf returns the means of the logarithms of the entries' ratios.
func meansOf(p ClassPlan, trials []metrics.Trial) map[string]float64 {
	rates := make(map[string]float64) // by entry and round
	for _, t := range trials {
		if t.Verdict.Valid {
			rates[fmt.Sprint(t.Round, t.Point[0])] = t.OpsPerS
		}
	}
	means := make(map[string]float64)
	for _, name := range p.Names {
		for round := 1; round <= p.Rounds; round++ {
			if rate, ok := rates[fmt.Sprint(round, name)]; ok {
				means[name] += math.Log(rate/rates[fmt.Sprint(round, p.Names[0])]) / float64(p.Rounds)
			}
		}
	}
	return means
}

// failed returns the standing of an entry that is INVALID.
func failed(name string, trials []metrics.Trial) metrics.Standing {
	x, check := metrics.Standing{Entry: name, Reason: "it does not build: " + CompilersLines}, ""
	for _, t := range trials {
		if t.Point[0] == name && t.Verdict.Valid {
			x.Valid++
		} else if t.Point[0] == name {
			x.Failed = append(x.Failed, t.Number)
			x.Reason, check = fmt.Sprintf("trial %d: %s", x.Failed[0], t.Verdict.Reason), t.Verdict.Check
		}
	}
	x.Verdict = metrics.Verdict{Check: check, Reason: x.Reason}
	return x
}
