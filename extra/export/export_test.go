package export

import (
	"bytes"
	"encoding/csv"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"kvlab/internal/foldertest"
	"kvlab/metrics"
	"kvlab/plots/folder"
	"kvlab/plots/table"
)

// exported returns the tables of a run and of a sweep of four trials, one of them INVALID.
func exported(t *testing.T) (tables Tables, run string, trials []string) {
	t.Helper()
	root := t.TempDir()
	run = filepath.Join(root, "cluster")
	foldertest.WriteFolder(t, run, foldertest.MakeRun(t, foldertest.Gallery["cluster"]))
	sweep := foldertest.MakeSweep(t, root, foldertest.SweepPlan{ID: "s", Knobs: []metrics.Knob{foldertest.Knob("nodes", "2", "4")}, Trials: 2,
		Law: foldertest.Law{4e6, 0, 0}, Seed: 1, Failed: []int{2}})
	for _, name := range []string{"trial-001", "trial-002", "trial-003", "trial-004"} {
		trials = append(trials, filepath.Join(sweep, name))
	}
	tables, err := Load([]string{run, sweep})
	if err != nil {
		t.Fatal(err)
	}
	return tables, run, trials
}

// read reads a table back from its CSV: the cells of each line by column.
func read(t *testing.T, table *table.Table) []map[string]string {
	t.Helper()
	var text bytes.Buffer
	if err := table.CSV(&text); err != nil {
		t.Fatal(err)
	}
	lines, err := csv.NewReader(&text).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	var rows []map[string]string
	for _, line := range lines[1:] {
		row := make(map[string]string)
		for i, cell := range line {
			row[lines[0][i]] = cell
		}
		rows = append(rows, row)
	}
	return rows
}

// leaves are the words, numbers and truth values of a JSON value by the names of its
// objects: the oracle of table.Table.Add. It knows no Go type.
func leaves(name string, value any, all map[string]any) {
	switch v := value.(type) {
	case map[string]any:
		for key, field := range v {
			leaves(strings.Trim(name+"_"+key, "_"), field, all)
		}
	case []any:
		if pair, ok := v[0].(float64); ok && len(v) == 2 {
			all[name+"_low"], all[name+"_high"] = pair, v[1]
		} else if _, ok := v[0].(string); ok {
			var words []string
			for _, word := range v {
				words = append(words, word.(string))
			}
			all[name] = strings.Join(words, " ")
		}
	case nil:
	default:
		all[name] = value
	}
}

// TestCSVIsRunJSON: what is read back from the table of runs is what run.json has.
func TestCSVIsRunJSON(t *testing.T) {
	tables, run, trials := exported(t)
	rows := read(t, tables[0])
	if len(rows) != 5 {
		t.Fatalf("%d rows, want 5", len(rows))
	}
	for i, dir := range append([]string{run}, trials...) {
		var of map[string]any
		if err := metrics.ReadJSON(filepath.Join(dir, "run.json"), &of); err != nil {
			t.Fatal(err)
		}
		all := make(map[string]any)
		leaves("", of, all)
		if len(all) < 10 {
			t.Fatalf("%s has %d values", dir, len(all))
		}
		if i > 0 {
			all["id"] = "s/" + all["id"].(string) // real trials have this themselves
		}
		for name, want := range all {
			cell := rows[i][name]
			switch want := want.(type) {
			case float64:
				if got, err := strconv.ParseFloat(cell, 64); err != nil || got != want {
					t.Errorf("%s: %s is %q, want %v", dir, name, cell, want)
				}
			case bool:
				if cell != strconv.FormatBool(want) {
					t.Errorf("%s: %s is %q, want %t", dir, name, cell, want)
				}
			case string:
				if cell != want && !strings.HasPrefix(want, "0001-01-01") {
					t.Errorf("%s: %s is %q, want %q", dir, name, cell, want)
				}
			}
		}
		for name, cell := range rows[i] {
			if _, ok := all[name]; !ok && cell != "" && cell != "0" && cell != "false" {
				t.Errorf("%s: %s is %q, and run.json does not have it", dir, name, cell)
			}
		}
	}
}

// TestTrials: the table of trials is trials.json, with the values of the knobs.
func TestTrials(t *testing.T) {
	tables, _, trials := exported(t)
	var want []metrics.Trial
	if err := metrics.ReadJSON(filepath.Join(filepath.Dir(trials[0]), metrics.TrialsFile), &want); err != nil {
		t.Fatal(err)
	}
	rows := read(t, tables[1])
	if len(rows) != 5 || rows[0]["sweep"] != "" || rows[0]["number"] != "1" {
		t.Fatalf("%d rows, the first %v", len(rows), rows[0])
	}
	for i, trial := range want {
		row := rows[1+i]
		if row["sweep"] != "s" || row["folder"] != trial.Folder || row["knob_nodes"] != trial.Point[0] || row["verdict_valid"] != strconv.FormatBool(trial.Verdict.Valid) {
			t.Errorf("row %v, want trial %+v", row, trial)
		}
		if got, err := strconv.ParseFloat(row["ops_per_s"], 64); err != nil || got != trial.OpsPerS {
			t.Errorf("trial %d: %q ops/s, want %v", trial.Number, row["ops_per_s"], trial.OpsPerS)
		}
	}
}

// TestSecondsAddUp: the clients' intervals of the window have all its operations, and
// each node has as many samples of its machine as intervals.
func TestSecondsAddUp(t *testing.T) {
	tables, run, _ := exported(t)
	r, err := folder.Load(run)
	if err != nil {
		t.Fatal(err)
	}
	ops, records := uint64(0), map[string]int{}
	for _, row := range read(t, tables[2]) {
		records[row["record"]]++
		if row["role"] == "client" && row["phase"] == "window" && row["record"] == "interval" {
			n, err := strconv.ParseUint(row["ops"], 10, 64)
			if err != nil {
				t.Fatal(err)
			}
			ops += n
		}
	}
	if want := r.InWindow().Ops(); ops != want {
		t.Errorf("%d operations in the window, want %d", ops, want)
	}
	if records["usage"] == 0 || records["usage"] != records["interval"] {
		t.Errorf("records: %v", records)
	}
}

// TestHistogramIsWhole: the bars have all values, and their median is that of run.json.
func TestHistogramIsWhole(t *testing.T) {
	tables, run, _ := exported(t)
	r, err := folder.Load(run)
	if err != nil {
		t.Fatal(err)
	}
	var counts []int64
	var ends []float64
	total := int64(0)
	for _, row := range read(t, tables[3]) {
		if row["latency"] != metrics.CallLatency {
			continue
		}
		count, err := strconv.ParseInt(row["count"], 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		to, err := strconv.ParseFloat(row["to_us"], 64)
		if err != nil {
			t.Fatal(err)
		}
		total += count
		counts, ends = append(counts, total), append(ends, to)
	}
	if want := r.Latencies.Call.TotalCount(); total != want {
		t.Errorf("%d calls, want %d", total, want)
	}
	median := 0
	for counts[median] < (total+1)/2 {
		median++
	}
	if want := *r.Run.Latency[metrics.CallLatency].P50; ends[median] < want || ends[median] > 1.001*want {
		t.Errorf("the median is %v us, want %v", ends[median], want)
	}
}

func TestLoadRefuses(t *testing.T) {
	_, run, _ := exported(t)
	for want, dirs := range map[string][]string{
		"the run 20261121-154000 is named twice": {run, run},
		"not a run folder":                       {t.TempDir()},
	} {
		if _, err := Load(dirs); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %q", err, want)
		}
	}
}
