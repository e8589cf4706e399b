package trial

import (
	"fmt"
	"io"
	"math"
	"os"
	"strings"
	"time"

	"kvlab/kvs/cluster/plan"
	"kvlab/metrics"
	"kvlab/metrics/format"

	"golang.org/x/sys/unix"
)

// plainEvery is the time between two progress lines without a terminal.
const plainEvery = 5 * time.Second

// status is the state of a run at one time.
type status struct {
	phase   metrics.Phase
	elapsed time.Duration // in the phase
	length  time.Duration // of the phase; 0 if unknown
	opsPerS float64       // all clients together, in their last interval
	servers int
	clients int
}

// display shows a run's progress: a redrawn bar on a terminal, plain lines elsewhere.
// It ignores write errors. Not safe for concurrent use.
type display struct {
	w        io.Writer
	terminal *os.File // w, when it is a terminal
	last     time.Time
}

func newDisplay(w io.Writer) *display {
	d := &display{w: w, last: time.Now()}
	if f, ok := w.(*os.File); ok {
		if _, err := unix.IoctlGetWinsize(int(f.Fd()), unix.TIOCGWINSZ); err == nil {
			d.terminal = f
		}
	}
	return d
}

// show shows the status. On a terminal it replaces the previous one.
func (d *display) show(s status) {
	if d.terminal != nil {
		fmt.Fprintf(d.w, "\r\x1b[K%s", s.bar(d.width()))
		return
	}
	if now := time.Now(); now.Sub(d.last) >= plainEvery {
		d.last = now
		fmt.Fprintln(d.w, s.line())
	}
}

// clear removes the bar.
func (d *display) clear() {
	if d.terminal != nil {
		fmt.Fprint(d.w, "\r\x1b[K")
	}
}

// width returns the terminal's current width, which the user may change.
func (d *display) width() int {
	size, err := unix.IoctlGetWinsize(int(d.terminal.Fd()), unix.TIOCGWINSZ)
	if err != nil || size.Col == 0 {
		return 80
	}
	return int(size.Col)
}

// line returns the status as text: "window 12/30 s, 12.4M ops/s".
func (s status) line() string {
	text := fmt.Sprintf("%s %.0f", s.phase, s.elapsed.Seconds())
	if s.length > 0 {
		text += fmt.Sprintf("/%.0f", s.length.Seconds())
	}
	return fmt.Sprintf("%s s, %s ops/s, %s, %s", text, format.Count(s.opsPerS), format.Plural(s.servers, "server"), format.Plural(s.clients, "client"))
}

// bar returns the status with a bar, at most as wide as the terminal.
func (s status) bar(width int) string {
	const cells = 24
	text := s.line()
	if s.length > 0 {
		share := math.Min(1, s.elapsed.Seconds()/s.length.Seconds())
		full := int(share * cells)
		text = "[" + strings.Repeat("#", full) + strings.Repeat("-", cells-full) + "] " + text
	}
	if len(text) >= width {
		text = text[:max(width-1, 0)]
	}
	return text
}

// status returns the state of the run.
func (c *Controller) status() status {
	s := status{
		phase: c.phase, elapsed: time.Since(c.entered),
		servers: c.plan.Count(metrics.Server), clients: c.plan.Count(metrics.Client),
	}
	for i, m := range c.of(metrics.Client) {
		s.opsPerS += m.interval.OpsPerS()
		if i == 0 {
			s.length = max(c.phaseLength(m.settings()), 0)
		}
	}
	return s
}

// phaseLength returns the length of the phase, 0 if unknown.
func (c *Controller) phaseLength(s plan.Settings) time.Duration {
	switch {
	case c.phase == metrics.Window:
		return s.Window
	case c.phase == metrics.WarmUp && c.extended:
		return 2 * s.WarmUp
	case c.phase == metrics.WarmUp:
		return s.WarmUp
	}
	return 0
}
