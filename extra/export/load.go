package export

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"

	"kvlab/metrics"
	"kvlab/metrics/latency"
	"kvlab/plots/folder"
)

// Tables are the tables of some run folders, in the order of Names.
type Tables []*Table

func newTables() Tables {
	return Tables{
		{Name: Names[0], keys: []string{"id"}},
		{Name: Names[1], keys: []string{"sweep", "id"}},
		{Name: Names[2], keys: []string{"id", "node", "role", "record", "phase"}, time: "time_unix_s"},
		{Name: Names[3], keys: []string{"id", "latency"}},
	}
}

// Load reads run folders. A sweep's folder stands for its trials. INVALID runs are rows
// too: the column verdict_valid tells them.
func Load(dirs []string) (Tables, error) {
	all := newTables()
	for _, dir := range dirs {
		if !folder.IsSweep(dir) {
			if err := all.addRun(dir, "", metrics.Sweep{}, metrics.PlannedTrial{Number: 1}); err != nil {
				return nil, err
			}
			continue
		}
		sweep, err := folder.LoadSweep(dir)
		if err != nil {
			return nil, err
		}
		for _, trial := range sweep.Trials {
			if err := all.addRun(filepath.Join(dir, trial.Folder), trial.Folder, sweep.Sweep, trial.PlannedTrial); err != nil {
				return nil, err
			}
		}
	}
	return all, nil
}

// addRun adds the rows of a run's folder, which is a trial of a sweep or stands alone.
func (t Tables) addRun(dir, name string, sweep metrics.Sweep, planned metrics.PlannedTrial) error {
	r, err := folder.Load(dir)
	if err != nil {
		return err
	}
	path, err := filepath.Abs(dir)
	if err != nil {
		return err
	}
	if r.ID = cmp.Or(r.ID, filepath.Base(path)); sweep.ID != "" {
		r.ID = sweep.ID + "/" + name // of this sweep, wherever its folder is now
	}
	if slices.ContainsFunc(t[0].Rows, func(row Row) bool { return row["id"] == r.ID }) {
		return fmt.Errorf("%s: the run %s is named twice", dir, r.ID)
	}
	t[0].row("", r.Run)
	cells := []any{"sweep", sweep.ID, "id", r.ID}
	for i, knob := range sweep.Knobs {
		cells = append(cells, "knob_"+knob.Name, planned.Point[i])
	}
	t[1].row(append(cells, "", metrics.TrialOf(metrics.PlannedTrial{Number: planned.Number}, name, r.Run))...)
	for i, of := range r.Latencies.All() {
		t[3].addBars(r.ID, latency.Names[i], of)
	}
	for _, log := range r.Logs {
		if err := t[2].addSeconds(r.ID, filepath.Join(dir, fmt.Sprintf("kvs%s-%s.jsonl", log.Role, log.Node))); err != nil {
			return err
		}
	}
	return nil
}

// addBars adds the bars of a distribution that are not empty.
func (t *Table) addBars(id, name string, of *latency.Distribution) {
	for _, bar := range of.Distribution() {
		if bar.Count > 0 {
			t.row("id", id, "latency", name, "from_us", bar.From, "to_us", bar.To, "count", bar.Count)
		}
	}
}

// addSeconds adds the intervals and the samples of usage in a node's file.
func (t *Table) addSeconds(id, path string) error {
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	defer file.Close()
	for record, err := range metrics.ReadRecords(path, file) {
		if errors.Is(err, metrics.ErrCutShort) {
			return nil // as an aborted run leaves it
		} else if err != nil {
			return err
		}
		t.addSecond(id, record)
	}
	return nil
}

// addSecond adds a record of a node, if it is an interval or a usage.
func (t *Table) addSecond(id string, record metrics.Record) {
	cells := []any{"id", id, "node", record.Node, "role", record.Role, "time_unix_s", float64(record.Time.UnixNano()) / 1e9, "record"}
	switch interval, usage := record.Interval, record.Usage; {
	case interval != nil:
		t.row(append(cells, "interval", "", interval, "ops", interval.Counts.Ops(), "ops_per_s", interval.OpsPerS())...)
	case usage != nil:
		cells = append(cells, "usage", "", usage)
		if data, ok := usage.Data(); ok {
			cells = append(cells, "data", data)
		}
		t.row(cells...)
	}
}

// Write writes the tables into a folder, which it makes when missing: a CSV file for each. It
// prints the files' names on said.
func (t Tables) Write(dir string, said io.Writer) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	for _, table := range t {
		path := filepath.Join(dir, table.Name+".csv")
		file, err := os.Create(path)
		if err == nil {
			err = errors.Join(table.CSV(file), file.Close())
		}
		if err != nil {
			return err
		}
		fmt.Fprintln(said, path)
	}
	return nil
}
