// Package export makes tables of run folders, as CSV, for other programs.
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
	"kvlab/plots/table"
)

// Tables are the tables of some run folders, in the order of Names.
type Tables []*table.Table

// Names are the names of the tables.
var Names = []string{"runs", "trials", "seconds", "histogram", "stages"}

// Load reads run folders. A sweep's folder stands for its trials. INVALID runs are rows
// too: the column verdict_valid tells them.
func Load(dirs []string) (Tables, error) {
	var all Tables
	for _, name := range Names {
		all = append(all, &table.Table{Name: name})
	}
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
	if slices.ContainsFunc(t[0].Rows, func(row table.Row) bool { return row["id"] == r.ID }) {
		return fmt.Errorf("%s: the run %s is named twice", dir, r.ID)
	}
	t[0].Add("", r.Run)
	cells := []any{"sweep", sweep.ID, "id", r.ID}
	for i, knob := range sweep.Knobs {
		cells = append(cells, "knob_"+knob.Name, planned.Point[i])
	}
	t[1].Add(append(cells, "", metrics.TrialOf(metrics.PlannedTrial{Number: planned.Number}, name, r.Run))...)
	for i, of := range r.Latencies.All() {
		if of != nil {
			addBars(t[3], r.ID, latency.Names[i], of)
		}
	}
	for i, stage := range r.Stages {
		t[4].Add("id", r.ID, "stage", i+1, "", stage)
	}
	for _, log := range r.Logs {
		if err := addSeconds(t[2], r.ID, filepath.Join(dir, fmt.Sprintf("kvs%s-%s.jsonl", log.Role, log.Node))); err != nil {
			return err
		}
	}
	return nil
}

// addBars adds the bars of a distribution that are not empty.
func addBars(t *table.Table, id, name string, of *latency.Distribution) {
	for _, bar := range of.Distribution() {
		if bar.Count > 0 {
			t.Add("id", id, "latency", name, "from_us", bar.From, "to_us", bar.To, "count", bar.Count)
		}
	}
}

// addSeconds adds the intervals and the samples of usage in a node's file.
func addSeconds(t *table.Table, id, path string) error {
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
		t.AddSecond(id, record)
	}
	return nil
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
