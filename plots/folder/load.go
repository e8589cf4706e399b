package folder

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"

	"kvlab/metrics"
	"kvlab/metrics/latency"
)

// Load is Read of a folder of the file system. Its errors name the folder.
func Load(dir string) (*Run, error) {
	r, err := Read(os.DirFS(dir))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", dir, err)
	}
	return r, nil
}

// Read reads a run folder: run.json and the nodes' .jsonl files. What an
// aborted run did not write is listed in Run.Missing and is no error. A file that
// cannot be read is an error, with file and line. A folder with neither is not a
// run folder.
func Read(folder fs.FS) (*Run, error) {
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
	if err := json.Unmarshal(text, &r.Run); err != nil {
		return fmt.Errorf("%s:%d: %w", runFile, 1+bytes.Count(text[:offsetOf(err, text)], []byte("\n")), err)
	}
	return nil
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
