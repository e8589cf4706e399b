package trial

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"

	"kvlab/kvs/cluster/plan"
	"kvlab/kvs/node"
	"kvlab/metrics"
	"kvlab/metrics/format"
)

// tailLines is the number of a failing node's last log lines that are printed.
const tailLines = 20

// nodeLog writes one node's output: lines to its .log, records to its .jsonl, and what a
// foreign store's program prints to store-NODE.log, or a team's client to team-NODE.log. It writes all at once, so that an aborted
// run keeps them. Safe for concurrent use by the readers of the node's standard output and
// standard error.
type nodeLog struct {
	mu      sync.Mutex
	text    *os.File // guarded by mu, as all below
	records *os.File // the .jsonl
	store   *os.File // nil before the store's program has printed a line
	path    string   // of store
	tail    []string // the last lines, oldest first
	before  []string // the last lines before the first goroutine's stack; nil without stacks
	stacks  string   // the path of the file that has the stacks; "" for none
	limit   string   // that the program met, as what contains it says; "" for none

	ends *format.Ends // the only parts of the .log that stay; nil if all of it stays
}

// openNodeLog creates both files. A run's folder is new, so they must not exist. Of the
// .log of a submitted program only the ends stay.
func openNodeLog(f Folder, place plan.Place, submitted bool) (*nodeLog, error) {
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
	l := &nodeLog{text: text, records: records, path: f.Path(metrics.OutputFile(place.Role, place.Name))}
	if submitted {
		l.ends = new(format.Ends)
	}
	return l, nil
}

// close writes the end of a log that was cut, and closes both files.
func (l *nodeLog) close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.ends != nil {
		for _, line := range l.ends.Rest() {
			fmt.Fprintln(l.text, line) // a disk that is full has failed the run before
		}
	}
	l.text.Close()
	l.records.Close()
	l.store.Close() // of none, it does nothing
}

// output appends a line that a foreign store's program has printed to its file.
func (l *nodeLog) output(text string) (err error) {
	if l.ends != nil { // a submitted program may send it without end
		return l.line(text)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.store == nil {
		l.store, err = os.OpenFile(l.path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	}
	if stackLine.MatchString(text) {
		l.stacks = l.path
	}
	if err == nil {
		_, err = fmt.Fprintln(l.store, text)
	}
	return err
}

// line appends a line to the .log.
func (l *nodeLog) line(text string) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.before == nil && stackLine.MatchString(text) {
		l.before, l.stacks = append([]string{}, l.tail...), l.text.Name()
	}
	if _, said, ok := strings.Cut(text, "kvscluster "+node.ContainFlag+": "); ok {
		l.limit = said
	}
	l.tail = append(l.tail[max(0, len(l.tail)+1-tailLines):], text)
	if l.ends != nil && !l.ends.Add(text) {
		return nil
	}
	_, err := fmt.Fprintln(l.text, text)
	return err
}

// keepProfile writes the profile that a node has sent to the run's folder: that of its own process,
// or of the foreign store that it is the host of. If there is none, a file says why.
func (c *Controller) keepProfile(m *process, event node.Event) *plan.Fault {
	of, ending, text := string(m.Role), metrics.ProfileEnding, event.Profile
	if m.foreign() {
		of = "store"
	}
	if event.Text != "" {
		ending, text = ".txt", []byte(event.Text+"\n")
		fmt.Fprintf(c.Stderr, "%s: no profile of its %s: %s\n", m.Name, of, event.Text)
	}
	path := c.Dir.Path(filepath.Join(metrics.ProfileFolder, fmt.Sprint(of, slices.Index(c.of(m.Role), m), ending)))
	err := os.MkdirAll(filepath.Dir(path), 0o755)
	if err == nil {
		err = os.WriteFile(path, text, 0o644)
	}
	if err != nil {
		return diskFault(err)
	}
	return nil
}

// met returns the limit that a contained program has met, in a sentence; "" for none.
func (l *nodeLog) met() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.limit
}

// record appends a record to the .jsonl.
func (l *nodeLog) record(r *metrics.Record) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return metrics.WriteRecord(l.records, *r)
}

// diskFault returns the fault of a failed write to the run's folder, which no node caused;
// nil for other errors.
func diskFault(err error) *plan.Fault {
	var file *fs.PathError
	if !errors.As(err, &file) {
		return nil
	}
	return &plan.Fault{Kind: plan.Crash, Reason: format.OneLine("the logs cannot be written: " + file.Error())}
}

// last returns the last lines of the .log, oldest first.
func (l *nodeLog) last() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return append([]string(nil), l.tail...)
}

// readable returns the last lines of the .log before the goroutines' stacks, oldest first,
// and the path of the file that has stacks, of the node or of its foreign store; "" for none.
func (l *nodeLog) readable() (lines []string, stacks string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.before != nil {
		return l.before, l.stacks
	}
	return append([]string(nil), l.tail...), l.stacks
}

// stackLine matches the first line of a goroutine's stack, as the Go runtime and a node
// write it, after a SIGQUIT its first line too.
var stackLine = regexp.MustCompile(`^(stderr: )?(goroutine \d+ .*\[|SIGQUIT: quit)`)
