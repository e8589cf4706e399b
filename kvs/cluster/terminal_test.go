package cluster

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	"golang.org/x/sys/unix"
	"kvlab/metrics/format"
)

// openTerminal opens a terminal of 80 columns for programs to write to. What it returns
// closes the terminal and returns all that was written.
func openTerminal(t *testing.T) (terminal *os.File, written func() string) {
	t.Helper()
	screen, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Skip(err)
	}
	t.Cleanup(func() { screen.Close() })
	fd := int(screen.Fd())
	number, err := unix.IoctlGetInt(fd, unix.TIOCGPTN)
	if err == nil {
		err = unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0)
	}
	if err == nil {
		err = unix.IoctlSetWinsize(fd, unix.TIOCSWINSZ, &unix.Winsize{Row: 24, Col: format.Columns})
	}
	if err != nil {
		t.Fatal(err)
	}
	if terminal, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|unix.O_NOCTTY, 0); err != nil {
		t.Skip(err) // another /dev/pts is mounted here
	}
	return terminal, readAll(terminal, screen)
}

// openPipe returns openTerminal for a pipe.
func openPipe(t *testing.T) (pipe *os.File, written func() string) {
	t.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Close() })
	return w, readAll(w, r)
}

// readAll reads from an end until the returned function closes the other.
func readAll(w io.Closer, r io.Reader) func() string {
	var text bytes.Buffer
	done := make(chan struct{})
	go func() {
		defer close(done)
		_, _ = io.Copy(&text, r) // a terminal that is closed ends in an error, EIO
	}()
	return func() string {
		w.Close()
		<-done
		return text.String()
	}
}

// colours matches what chooses a colour, and controls all that a terminal does not show.
var (
	colours  = regexp.MustCompile("\x1b\\[[0-9;]*m")
	controls = regexp.MustCompile("\x1b\\[[0-9;]*[mK]")
)

// The launcher colours what it says on a terminal only, not with NO_COLOR, and no line is
// wider than the terminal.
func TestColoursOnATerminal(t *testing.T) {
	for _, test := range []struct {
		name, noColor string
		open          func(*testing.T) (*os.File, func() string)
		coloured      bool
	}{
		{"a terminal", "", openTerminal, true},
		{"a terminal, NO_COLOR", "1", openTerminal, false},
		{"a pipe", "", openPipe, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Setenv("NO_COLOR", test.noColor)
			t.Setenv("TERM", "xterm")
			out, err := os.MkdirTemp("", "kv") // its name is short
			if err != nil {
				t.Fatal(err)
			}
			defer os.RemoveAll(out)
			terminal, written := test.open(t)
			l := fakeLauncher(t.TempDir(), terminal, terminal)
			for args, status := range map[string]int{"--secs 1": 0, "--trials 2": 0, "--curve 40%,80%,150% --trials 1": 0, "--help": 0, "--trails 2": 2} {
				err := l.Run(context.Background(), append([]string{"1", "2", "-fake-clients node1,node2", "", "--no-ceiling", "--out", out}, strings.Fields(args)...))
				if ExitStatus(err) != status {
					t.Errorf("%s: %v", args, err)
				}
			}
			text := written()
			if coloured := strings.Contains(text, "\x1b[1;32mVALID"); coloured != test.coloured || colours.MatchString(text) != test.coloured {
				t.Errorf("coloured %v, want %v:\n%q", coloured, test.coloured, text)
			}
			if test.name == "a pipe" && strings.ContainsAny(text, "\r\x1b") {
				t.Errorf("a pipe has what only terminals understand: %q", text)
			}
			for _, line := range strings.FieldsFunc(text, func(c rune) bool { return c == '\r' || c == '\n' }) {
				if shown := controls.ReplaceAllString(line, ""); utf8.RuneCountInString(shown) > format.Columns {
					t.Errorf("more than %d columns: %q", format.Columns, shown)
				}
			}
			for _, want := range []string{"verdict VALID", "knee below ", "did you mean --trials?", "--help all       every flag"} {
				if !strings.Contains(controls.ReplaceAllString(text, ""), want) {
					t.Errorf("no %q in %q", want, text)
				}
			}
		})
	}
}
