package trial

import (
	"cmp"
	"fmt"
	"io"
	"math"
	"os"
	"strings"
	"time"

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
	w    io.Writer
	last time.Time // when the last plain line was written
}

// show shows the status. On a terminal it replaces the previous one.
func (d *display) show(s status) {
	if width := d.width(); width > 0 {
		fmt.Fprintf(d.w, "\r\x1b[K%s", s.bar(width))
		return
	}
	if now := time.Now(); now.Sub(d.last) >= plainEvery {
		d.last = now
		fmt.Fprintln(d.w, s.line())
	}
}

// clear removes the bar.
func (d *display) clear() {
	if d.width() > 0 {
		fmt.Fprint(d.w, "\r\x1b[K")
	}
}

// width returns the current width of the terminal, 0 without one.
func (d *display) width() int {
	f, ok := d.w.(*os.File)
	if !ok {
		return 0
	}
	size, err := unix.IoctlGetWinsize(int(f.Fd()), unix.TIOCGWINSZ)
	if err != nil {
		return 0
	}
	return cmp.Or(int(size.Col), 80)
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
	clients := c.of(metrics.Client)
	s := status{
		phase: c.phase, elapsed: time.Since(c.entered),
		servers: c.Plan.Count(metrics.Server), clients: len(clients),
	}
	for _, m := range clients {
		s.opsPerS += m.interval.OpsPerS()
	}
	switch settings := clients[0].settings(); c.phase {
	case metrics.Window:
		s.length = max(settings.Window, 0)
	case metrics.WarmUp:
		s.length = max(settings.WarmUp, 0)
		if c.extended {
			s.length *= 2
		}
	}
	return s
}
