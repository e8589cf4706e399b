package trial

import (
	"errors"
	"fmt"
	"os"
	"sync"

	"kvlab/kvs/cluster/plan"
	"kvlab/metrics"
	"kvlab/metrics/format"
)

// tailLines is the number of a failing node's last log lines that are printed.
const tailLines = 20

// nodeLog writes one node's output: lines to its .log, records to its .jsonl. It writes
// both at once, so that an aborted run keeps them. Safe for concurrent use by the
// readers of the node's standard output and standard error.
type nodeLog struct {
	mu      sync.Mutex
	text    diskWriter // guarded by mu, as all below
	records diskWriter // the .jsonl
	tail    []string   // the last lines, oldest first
}

// openNodeLog creates both files. A run's folder is new, so they must not exist.
func openNodeLog(f Folder, place plan.Place) (*nodeLog, error) {
	base := f.Path(place.Program() + "-" + place.Name)
	text, err := os.OpenFile(base+".log", os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return nil, err
	}
	records, err := os.OpenFile(base+".jsonl", os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		text.Close()
		return nil, err
	}
	return &nodeLog{text: diskWriter{text}, records: diskWriter{records}}, nil
}

// line appends a line to the .log.
func (l *nodeLog) line(text string) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.tail = append(l.tail, text); len(l.tail) > tailLines {
		l.tail = append(l.tail[:0], l.tail[1:]...)
	}
	_, err := fmt.Fprintln(l.text, text)
	return err
}

// record appends a record to the .jsonl.
func (l *nodeLog) record(r *metrics.Record) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return metrics.WriteRecord(l.records, *r)
}

// diskError is a failed write to the run's folder, which no node caused.
type diskError struct{ error }

func (e diskError) Unwrap() error { return e.error }

func (e diskError) fault() *plan.Fault {
	return &plan.Fault{Kind: plan.Crash, Reason: format.OneLine("the logs cannot be written: " + e.Error())}
}

// diskWriter marks the errors of writes to the run's folder.
type diskWriter struct{ *os.File }

func (w diskWriter) Write(p []byte) (int, error) {
	n, err := w.File.Write(p)
	if err != nil {
		err = diskError{err}
	}
	return n, err
}

// last returns the last lines of the .log, oldest first.
func (l *nodeLog) last() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return append([]string(nil), l.tail...)
}

func (l *nodeLog) close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return errors.Join(l.text.Close(), l.records.Close())
}
