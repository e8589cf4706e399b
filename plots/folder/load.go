package folder

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"

	"kvlab/metrics"
	"kvlab/metrics/account"
	"kvlab/metrics/latency"
)

// Load reads a run folder: run.json and the nodes' .jsonl files. What an
// aborted run did not write is listed in Run.Missing and is no error. A file that
// cannot be read is an error, with folder, file and line. A folder with neither is not
// a run folder.
func Load(dir string) (*Run, error) {
	r, err := read(os.DirFS(dir))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", dir, err)
	}
	r.Dir = dir
	return r, nil
}

// Page returns the name of the HTML file that shows a run folder; "" if it has none.
func Page(dir string) string {
	pages, _ := fs.Glob(os.DirFS(dir), "*.html") // the pattern is right
	return append(pages, "")[0]
}

// LoadResult reads run.json of a run folder, and not the nodes' records. The error of a
// folder without it is fs.ErrNotExist.
func LoadResult(dir string) (*Run, error) {
	r := &Run{}
	err := r.readJSON(os.DirFS(dir))
	return r, err
}

// read returns Load without the folder's name.
func read(folder fs.FS) (*Run, error) {
	run := &Run{Latencies: latency.NewSet()}
	err := run.readJSON(folder)
	described := !errors.Is(err, fs.ErrNotExist)
	if !described {
		run.Missing = append(run.Missing, runFile)
	} else if err != nil {
		return nil, err
	}
	var files []string
	for _, pattern := range []string{"kvsclient-*.jsonl", "kvsserver-*.jsonl"} {
		found, err := fs.Glob(folder, pattern)
		if err != nil {
			return nil, err
		}
		files = append(files, found...)
	}
	if !described && len(files) == 0 {
		return nil, errors.New("not a run folder: neither run.json nor kvsserver-NODE.jsonl is in it")
	}
	for _, file := range files {
		if err := run.readLog(folder, file); err != nil {
			return nil, err
		}
	}
	run.sortLogs()
	if !described {
		run.describe()
	}
	run.noteMissing()
	return run, nil
}

const runFile = "run.json"

// readJSON reads run.json. Its error is fs.ErrNotExist if there is none.
func (r *Run) readJSON(folder fs.FS) error {
	text, err := fs.ReadFile(folder, runFile)
	if err != nil {
		return fmt.Errorf("read the run: %w", err)
	}
	return metrics.DecodeJSON(runFile, text, &r.Run)
}

// noteMissing lists the nodes of run.json without records or without a summary.
func (r *Run) noteMissing() {
	for _, node := range r.Nodes {
		logged := slices.ContainsFunc(r.Logs, func(l Log) bool { return l.Node == node.Name && l.Role == node.Role })
		switch {
		case !logged:
			r.Missing = append(r.Missing, fmt.Sprintf("records of %s %s", node.Role, node.Name))
		case node.Summary == nil:
			r.Missing = append(r.Missing, fmt.Sprintf("summary of %s %s", node.Role, node.Name))
		}
	}
	if !r.HasLatencies() && r.Count(metrics.Client) > 0 && !r.HostsClient() { // a team's client tells none
		r.Missing = append(r.Missing, "latencies of the window")
	}
}

// readLog adds one record file's log, and the window's latencies in it, to r. The
// file may be of any length: it is never in memory whole.
func (r *Run) readLog(folder fs.FS, file string) error {
	f, err := folder.Open(file)
	if err != nil {
		return fmt.Errorf("read records: %w", err)
	}
	defer f.Close()
	log := Log{Reported: account.Reported{Restarts: r.Restart != nil}}
	line := 0
	for record, err := range metrics.ReadRecords(file, f) {
		line++
		if errors.Is(err, metrics.ErrCutShort) {
			r.Missing = append(r.Missing, fmt.Sprintf("the end of a line (%v)", err))
			break
		}
		if err != nil {
			return err
		}
		if err := r.add(&log, record); err != nil {
			return fmt.Errorf("%s:%d: %w", file, line, err)
		}
	}
	log.Intervals, log.Usages = log.intervals.samples, log.usages.samples
	if log.Node != "" {
		r.Logs = append(r.Logs, log)
	}
	return nil
}

// add checks and stores one record of a node's file.
func (r *Run) add(log *Log, record metrics.Record) error {
	if log.Node == "" {
		log.Node, log.Role = record.Node, record.Role
	}
	switch {
	case record.Node != log.Node || record.Role != log.Role:
		return fmt.Errorf("record of %s %q in the file of %s %q", record.Role, record.Node, log.Role, log.Node)
	case record.Time.IsZero():
		return errors.New("record without a time")
	case record.Config == nil && log.Config == nil:
		return errors.New("record before the node's config, which has the schema")
	}
	log.Reported.Add(record)
	switch {
	case record.Interval != nil:
		return log.intervals.add(ofInterval(record.Time, *record.Interval))
	case record.Usage != nil:
		return log.usages.add(ofUsage(record.Time, *record.Usage))
	case record.Histogram != nil:
		if record.Role == metrics.Client && record.Histogram.Phase == metrics.Window {
			return r.Latencies.Add(record)
		}
	}
	return nil
}
