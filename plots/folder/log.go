package folder

import (
	"errors"
	"fmt"
	"io/fs"

	"kvlab/metrics"
)

// readLog adds one record file's log, and the window's latencies in it, to r. The
// file may be of any length: it is never in memory whole.
func (r *Run) readLog(folder fs.FS, file string) error {
	f, err := folder.Open(file)
	if err != nil {
		return fmt.Errorf("read records: %w", err)
	}
	defer f.Close()
	log := Log{}
	var intervals, usages track
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
		switch {
		case record.Interval != nil:
			intervals.add(ofInterval(record.Time, *record.Interval))
		case record.Usage != nil:
			usages.add(ofUsage(record.Time, *record.Usage))
		}
	}
	log.Intervals, log.Usages = intervals.samples, usages.samples
	if log.Node != "" {
		r.Logs = append(r.Logs, log)
	}
	return nil
}

// add checks one record of a node's file, and stores it unless it is an interval or
// a usage.
func (r *Run) add(log *Log, record metrics.Record) error {
	if log.Node == "" {
		log.Node, log.Role = record.Node, record.Role
	}
	switch {
	case record.Node != log.Node || record.Role != log.Role:
		return fmt.Errorf("record of %s %q in the file of %s %q", record.Role, record.Node, log.Role, log.Node)
	case record.Time.IsZero():
		return errors.New("record without a time")
	case record.Config != nil:
		log.config = record.Config
	case record.Interval != nil:
		return checkLength(record.Interval.LengthS)
	case record.Usage != nil:
		return checkLength(record.Usage.LengthS)
	case record.Histogram != nil:
		if record.Role == metrics.Client && record.Histogram.Phase == metrics.Window {
			return r.Latencies.Add(*record.Histogram)
		}
	case record.Summary != nil:
		log.summary = record.Summary
	}
	return nil
}

// checkLength refuses a length that no measurement has.
func checkLength(lengthS float64) error {
	const hour = 3600
	if lengthS < 0 || lengthS > hour {
		return fmt.Errorf("length_s is %g: want 0 to %d", lengthS, hour)
	}
	return nil
}
