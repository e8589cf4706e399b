package folder

import (
	"slices"
	"testing"

	"kvlab/metrics"
	"kvlab/metrics/account"
)

// Of two nodes on one machine of 4 cores, both processes' work is the run's; a second in
// which others take half of the machine is other work, and so is one of a machine alone.
func TestOtherWork(t *testing.T) {
	log := func(host string, role metrics.Role, samples ...[2]float64) Log {
		l := Log{Node: host + string(role), Role: role, Reported: account.Reported{Config: &metrics.Config{Host: metrics.Host{Hostname: host, Cores: 4}}}}
		for i, s := range samples {
			l.Usages = append(l.Usages, ofUsage(after(float64(i+1)), metrics.Usage{LengthS: 1, Phase: metrics.Window, CPUPercent: s[0], Process: metrics.ProcessUsage{CPUPercent: s[1]}}))
		}
		return l
	}
	r := &Run{Run: metrics.Run{WindowStart: start, Result: metrics.Result{WindowS: 3}}, Logs: []Log{
		log("a", metrics.Server, [2]float64{100, 200}, [2]float64{100, 100}, [2]float64{90, 0}),
		log("a", metrics.Client, [2]float64{100, 180}, [2]float64{100, 100}, [2]float64{90, 0}),
		log("b", metrics.Client, [2]float64{50, 200}, [2]float64{50, 200}, [2]float64{80, 200}),
	}}
	if got, want := r.OtherWork(25), [][2]float64{{1, 3}}; !slices.Equal(got, want) {
		t.Errorf("other work in %v, want %v", got, want)
	}
	if got, want := r.OtherWork(35), [][2]float64{{1, 2}}; !slices.Equal(got, want) {
		t.Errorf("more other work in %v, want %v", got, want)
	}
}
