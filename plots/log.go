package plots

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"

	"github.com/HdrHistogram/hdrhistogram-go"

	"kvlab/metrics"
)

// readLog adds one record file's log, and the window's latencies in it, to r.
func (r *Run) readLog(folder fs.FS, file string) error {
	f, err := folder.Open(file)
	if err != nil {
		return fmt.Errorf("read records: %w", err)
	}
	defer f.Close()
	lines := bufio.NewReaderSize(f, 1<<16)
	log := Log{}
	for line := 1; ; line++ {
		text, err := lines.ReadBytes('\n')
		if err != nil && !errors.Is(err, io.EOF) {
			return fmt.Errorf("read %s:%d: %w", file, line, err)
		}
		last := err != nil
		if len(bytes.TrimSpace(text)) > 0 {
			var record metrics.Record
			if err := json.Unmarshal(text, &record); err != nil && last {
				r.Missing = append(r.Missing, fmt.Sprintf("the end of %s:%d, which stops in mid-line", file, line))
			} else if err != nil {
				return fmt.Errorf("%s:%d: %w", file, line, err)
			} else if err := r.add(&log, record); err != nil {
				return fmt.Errorf("%s:%d: %w", file, line, err)
			}
		}
		if last {
			break
		}
	}
	if log.Node != "" {
		r.Logs = append(r.Logs, log)
	}
	return nil
}

// add puts one record of a node's file where it belongs.
func (r *Run) add(log *Log, record metrics.Record) error {
	if log.Node == "" {
		log.Node, log.Role = record.Node, record.Role
	}
	switch {
	case record.Node == "":
		return errors.New("record without a node")
	case record.Role != metrics.Server && record.Role != metrics.Client:
		return fmt.Errorf("role %q: want %q or %q", record.Role, metrics.Server, metrics.Client)
	case record.Node != log.Node || record.Role != log.Role:
		return fmt.Errorf("record of %s %s in the file of %s %s", record.Role, record.Node, log.Role, log.Node)
	case record.Time.IsZero():
		return errors.New("record without a time")
	case record.Config != nil:
		log.config = record.Config
	case record.Interval != nil:
		if err := checkLength(record.Interval.LengthS); err != nil {
			return fmt.Errorf("interval: %w", err)
		}
		log.Intervals = append(log.Intervals, At[metrics.Interval]{record.Time, *record.Interval})
	case record.Usage != nil:
		if err := checkLength(record.Usage.LengthS); err != nil {
			return fmt.Errorf("usage: %w", err)
		}
		log.Usages = append(log.Usages, At[metrics.Usage]{record.Time, *record.Usage})
	case record.Histogram != nil:
		return r.merge(record.Role, *record.Histogram)
	case record.Summary != nil:
		log.summary = record.Summary
	}
	return nil
}

// checkLength refuses what cannot be about one second's measurement.
func checkLength(lengthS float64) error {
	const hour = 3600
	if lengthS < 0 || lengthS > hour {
		return fmt.Errorf("length_s is %g: want 0 to %d", lengthS, hour)
	}
	return nil
}

// merge adds a client's histogram of the window to the run's. Counts are
// added; percentiles are never averaged.
func (r *Run) merge(role metrics.Role, record metrics.Histogram) error {
	if role != metrics.Client || record.Phase != metrics.Window {
		return nil
	}
	h, err := hdrhistogram.Decode([]byte(record.HDR))
	if err != nil {
		return fmt.Errorf("decode histogram %q: %w", record.Name, err)
	}
	if r.Histograms == nil {
		r.Histograms = map[string]*hdrhistogram.Histogram{}
	}
	merged := r.Histograms[record.Name]
	if merged == nil {
		r.Histograms[record.Name] = h
		return nil
	}
	if dropped := merged.Merge(h); dropped > 0 {
		return fmt.Errorf("histogram %q: %d values lie outside the range of the earlier ones", record.Name, dropped)
	}
	return nil
}
