package metrics

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// procFS is a directory that looks like /proc. gopsutil's own readers are not
// used for the files that are sampled: they answer a missing or garbled stat or
// meminfo with zeros and no error, and panic on a short net/dev or net/snmp. A
// benchmark needs the fault, with its file and line.
type procFS string

// hostProc is the directory that HOST_PROC names, else /proc: the same rule as
// gopsutil's, so that both look at the same machine.
func hostProc() procFS {
	if dir := os.Getenv("HOST_PROC"); dir != "" {
		return procFS(dir)
	}
	return "/proc"
}

// open reads a pseudo-file in one go: its size is unknown beforehand, and only
// a single read sees one consistent state.
func (fs procFS) open(name string) (procFile, error) {
	path := filepath.Join(string(fs), name)
	text, err := os.ReadFile(path)
	if err != nil {
		return procFile{}, err
	}
	return newProcFile(path, string(text))
}

// procFile is the text of one pseudo-file, cut into lines.
type procFile struct {
	path  string
	lines []string
}

// newProcFile cuts text into lines. The kernel ends each line with a newline,
// so text without one at its end has been cut short.
func newProcFile(path, text string) (procFile, error) {
	f := procFile{path: path, lines: strings.Split(text, "\n")}
	last := len(f.lines) - 1
	switch {
	case text == "":
		return procFile{}, fmt.Errorf("%s: empty file", path)
	case f.lines[last] != "":
		return procFile{}, f.errorf(last, "cut short after %q", f.lines[last])
	}
	f.lines = f.lines[:last]
	return f, nil
}

// errorf returns an error about the line with index i, counted from 1 in the
// message as editors do.
func (f procFile) errorf(i int, format string, args ...any) error {
	return fmt.Errorf("%s:%d: %s", f.path, i+1, fmt.Sprintf(format, args...))
}

// missing returns the error for a file that ended before a line it must have.
func (f procFile) missing(what string) error {
	return f.errorf(len(f.lines)-1, "no %s line up to the end of the file", what)
}

// uint reads text, which stands in line i and means what, as a counter.
func (f procFile) uint(i int, what, text string) (uint64, error) {
	n, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		return 0, f.errorf(i, "%s is %q, want an unsigned number", what, text)
	}
	return n, nil
}

// since is how far a counter has come from before to now. A counter that went
// backwards was reset (an interface that was reloaded, a core that was
// unplugged): how much it counted meanwhile is unknown, and 0 is the only
// answer that invents nothing.
func since(now, before uint64) uint64 {
	if now < before {
		return 0
	}
	return now - before
}
