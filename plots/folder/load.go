package folder

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"kvlab/metrics"
	"kvlab/metrics/latency"
)

// InputError is a fault of a run folder, not of this program.
type InputError struct{ Err error }

// Error returns the fault's text.
func (e *InputError) Error() string { return e.Err.Error() }

// Unwrap returns the fault.
func (e *InputError) Unwrap() error { return e.Err }

// Read reads a run folder: run.json and the nodes' .jsonl files. What an
// aborted run did not write is listed in Run.Missing and is no error. A file that
// cannot be read is an error, with file and line. A folder with neither is not a
// run folder.
func Read(folder fs.FS) (*Run, error) {
	run := &Run{Latencies: latency.NewSet()}
	described, err := ReadRun(folder, run)
	if err != nil {
		return nil, err
	}
	files, err := recordFiles(folder)
	if err != nil {
		return nil, err
	}
	if !described && len(files) == 0 {
		return nil, &InputError{errors.New("not a run folder: neither run.json nor kvsserver-NODE.jsonl is in it")}
	}
	for _, file := range files {
		if err := run.readLog(folder, file); err != nil {
			return nil, &InputError{err}
		}
	}
	run.sortLogs()
	if !described {
		run.describe()
	}
	run.noteMissing()
	return run, nil
}

// ReadRun reads run.json into run and returns whether there is one.
func ReadRun(folder fs.FS, run *Run) (bool, error) {
	const file = "run.json"
	text, err := fs.ReadFile(folder, file)
	if errors.Is(err, fs.ErrNotExist) {
		run.Missing = append(run.Missing, file)
		return false, nil
	}
	if err != nil {
		return false, &InputError{fmt.Errorf("read the run: %w", err)}
	}
	if err := json.Unmarshal(text, &run.Run); err != nil {
		return false, &InputError{fmt.Errorf("%s:%d: %w", file, 1+bytes.Count(text[:offsetOf(err, text)], []byte("\n")), err)}
	}
	return true, nil
}

// offsetOf returns where in text a JSON error is.
func offsetOf(err error, text []byte) int64 {
	var syntax *json.SyntaxError
	var kind *json.UnmarshalTypeError
	switch {
	case errors.As(err, &syntax):
		return min(syntax.Offset, int64(len(text)))
	case errors.As(err, &kind):
		return min(kind.Offset, int64(len(text)))
	}
	return 0
}

// recordFiles returns the names of the folder's record files in order.
func recordFiles(folder fs.FS) ([]string, error) {
	entries, err := fs.ReadDir(folder, ".")
	if err != nil {
		return nil, &InputError{fmt.Errorf("read the run folder: %w", err)}
	}
	var files []string
	for _, entry := range entries {
		name := entry.Name()
		isNode := strings.HasPrefix(name, "kvsserver-") || strings.HasPrefix(name, "kvsclient-")
		if isNode && strings.HasSuffix(name, ".jsonl") {
			files = append(files, name)
		}
	}
	return files, nil
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
	if !r.HasLatencies() && r.Count(metrics.Client) > 0 {
		r.Missing = append(r.Missing, "latencies of the window")
	}
}
