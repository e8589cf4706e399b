package foldertest

import (
	"fmt"
	"maps"
	"math"
	"path/filepath"
	"testing"

	"kvlab/metrics"
)

// QueueShares are the rates of a made-up curve, as shares of its peak. The last is
// saturated.
var QueueShares = []float64{0.2, 0.5, 0.8, 0.9, 1.2}

// MakeCurve makes up the folder of a curve of an M/M/1 queue with the capacity mu and 7
// trials a rate, and writes it below root. Trial i of a rate has the closed formula's
// latencies, 1 + i/100 times as long. The sojourn time is exponential with mean 1/(mu -
// rate). flags are those of the clients, and "engine" the servers'.
func MakeCurve(t testing.TB, root, id string, mu float64, slo string, flags map[string]string) string {
	t.Helper()
	dir := filepath.Join(root, id)
	sweep := metrics.Sweep{Schema: metrics.Schema, ID: id, Command: []string{"run-cluster.sh", "--curve"}, GitCommit: "c" + id, Trials: 7, SLO: slo, Knobs: []metrics.Knob{Knob("rate", "peak")}}
	classes := fixture[metrics.Run]("run.json").Nodes[0].Config.Classes
	var trials []metrics.Trial
	add := func(value string, offered, factor float64) {
		planned := metrics.PlannedTrial{Number: len(trials) + 1, Point: []string{value}}
		run := metrics.Run{Result: metrics.Result{Schema: metrics.Schema, WindowS: 10, OpsPerS: mu, Ops: uint64(10 * mu), Verdict: Valid}, ID: fmt.Sprintf("trial-%03d", planned.Number), GitCommit: sweep.GitCommit, Workload: maps.Clone(flags)}
		run.Nodes = []metrics.RunNode{{Name: "a", Role: metrics.Server, Config: &metrics.Config{Flags: map[string]string{metrics.EngineFlag: flags[metrics.EngineFlag]}}}, {Name: "b", Role: metrics.Client, Config: &metrics.Config{Classes: classes}}}
		delete(run.Workload, metrics.EngineFlag)
		if offered > 0 {
			run.Workload["rate"] = fmt.Sprint(offered)
			run.Offered = &metrics.Offered{Arrivals: "poisson", OpsPerS: offered, Ops: uint64(10 * offered)}
			run.OpsPerS, run.Ops = min(offered, mu), uint64(10*min(offered, mu))
			mean := factor * 1e6 / (mu - offered)
			at := func(q float64) *float64 { return new(-mean * math.Log(1-q)) }
			run.Latency = map[string]metrics.Quantiles{metrics.OpLatency: {Count: 1e5, Mean: mean, P50: at(0.5), P95: at(0.95), P99: at(0.99), P999: at(0.999)}, metrics.Lateness: {Count: 1e5, P99: new(50.0)}}
			metrics.Refuse(run.Latency, run.Offered.Saturated(run.Ops))
		}
		WriteJSON(t, filepath.Join(dir, run.ID, "run.json"), run)
		sweep.Order, trials = append(sweep.Order, planned), append(trials, metrics.TrialOf(planned, run.ID, run))
	}
	add("peak", 0, 1)
	for _, share := range QueueShares {
		value := fmt.Sprintf("%.0f%%", 100*share)
		sweep.Knobs[0].Values = append(sweep.Knobs[0].Values, value)
		for i := range sweep.Trials {
			add(value, share*mu, 1+float64(i)/100)
		}
	}
	WriteJSON(t, filepath.Join(dir, metrics.SweepFile), sweep)
	WriteJSON(t, filepath.Join(dir, metrics.TrialsFile), trials)
	return dir
}
