package metrics

import (
	"slices"
	"strconv"
	"strings"
	"testing"
)

// reportTput does with a log what the labs' report-tput.py does: of every line
// that contains a word the second word, and of these the median.
func reportTput(t *testing.T, log, word string) float64 {
	t.Helper()
	var samples []float64
	for line := range strings.Lines(log) {
		if strings.Contains(line, word) {
			sample, err := strconv.ParseFloat(strings.Fields(line)[1], 64)
			if err != nil {
				t.Fatal(err)
			}
			samples = append(samples, sample)
		}
	}
	slices.Sort(samples)
	return samples[len(samples)/2]
}

func TestLinesAreTheLabs(t *testing.T) {
	i := Interval{LengthS: 2, Counts: Counts{Gets: 100, Puts: 20, ReadModifyWrites: 5, Hits: 90, Misses: 15, Calls: 3}}
	const want = "get/s 50.00\nput/s 12.50\nops/s 62.50\n\n"
	if got := i.Lines(); got != want {
		t.Errorf("lines %q, want %q", got, want)
	}
	if got := (Interval{}).Lines(); got != "get/s 0.00\nput/s 0.00\nops/s 0.00\n\n" {
		t.Errorf("lines of nothing %q", got)
	}
	log := "Starting KVS server on :8080\n"
	for _, gets := range []uint64{0, 7, 30, 11, 90} {
		log += Interval{LengthS: 1, Counts: Counts{Gets: gets}}.Lines() + Table{}.Text("SERVER")
	}
	if got := reportTput(t, log, "ops/s"); got != 11 {
		t.Errorf("report-tput.py would read %v, want 11", got)
	}
}

// The second lab's report-tput.py reads commits and aborts on lines of their own, and the
// servers' commits add up to the clients': 7 of one server, and 6 of both.
func TestTransactionLinesAreTheLabs(t *testing.T) {
	before := TransactionTally{Runs: 10, Parts: 10, Shares: 15, Refused: 1}
	servers := []TransactionTally{{Runs: 3, Parts: 6, Shares: 6, Refused: 2}, {Runs: 4, Parts: 6, Shares: 7, Refused: 8}}
	commits, aborts := 0.0, 0.0
	for _, s := range servers {
		log := Interval{LengthS: 2}.Lines() + before.Add(s).Lines(before, 2)
		commits, aborts = commits+2*reportTput(t, log, "commit/s"), aborts+2*reportTput(t, log, "abort/s")
		if got := reportTput(t, log, "ops/s"); got != 0 {
			t.Errorf("report-tput.py would read %v ops/s", got)
		}
	}
	if commits != 13 || aborts != 10 {
		t.Errorf("report-tput.py would read %v commits and %v aborts in all, want 13 and 10", commits, aborts)
	}
}
