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

// plainEvery is the time between two progress lines where there is no terminal.
const plainEvery = 5 * time.Second

// status is what a run does at a moment.
type status struct {
	phase   metrics.Phase
	elapsed time.Duration // in the phase
	length  time.Duration // of the phase; 0 when it is not known
	opsPerS float64       // all clients together, in their last interval
	servers int
	clients int
}

// display shows a run's progress while it runs: a bar that is redrawn on a
// terminal, a plain line now and then elsewhere. What it cannot write it drops.
// Not safe for concurrent use.
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

// show shows the status, on the terminal in place of the one before.
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

// width is the terminal's, asked anew each time as the user may change it.
func (d *display) width() int {
	size, err := unix.IoctlGetWinsize(int(d.terminal.Fd()), unix.TIOCGWINSZ)
	if err != nil || size.Col == 0 {
		return 80
	}
	return int(size.Col)
}

// line is the status in words: "window 12/30 s, 12.4M ops/s".
func (s status) line() string {
	text := fmt.Sprintf("%s %.0f", s.phase, s.elapsed.Seconds())
	if s.length > 0 {
		text += fmt.Sprintf("/%.0f", s.length.Seconds())
	}
	return fmt.Sprintf("%s s, %s ops/s, %s, %s", text, format.Count(s.opsPerS), format.Plural(s.servers, "server"), format.Plural(s.clients, "client"))
}

// bar is the status with a bar, no wider than the terminal.
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

// status is the state of the run as the conductor knows it.
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

// phaseLength is how long the phase lasts, 0 where nothing states it.
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
