package trial

import (
	"cmp"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"kvlab/metrics"
	"kvlab/metrics/format"

	"golang.org/x/sys/unix"
)

// plainEvery is the time between two progress lines without a terminal.
const plainEvery = 5 * time.Second

// show shows the run's progress: on a terminal a bar in place of the previous one, plain
// lines elsewhere. It ignores write errors.
func (c *Controller) show(now time.Time) {
	text, share := c.status(now)
	if width := widthOf(c.Stderr); width > 0 {
		fmt.Fprint(c.Stderr, clearLine+bar(text, share, width))
	} else if now.Sub(c.shown) >= plainEvery {
		c.shown = now
		fmt.Fprintln(c.Stderr, text)
	}
}

// clearLine is what a terminal takes to remove the bar.
const clearLine = "\r\x1b[K"

// widthOf returns the current width of a terminal, 0 for anything else.
func widthOf(w io.Writer) int {
	f, ok := w.(*os.File)
	if !ok {
		return 0
	}
	size, err := unix.IoctlGetWinsize(int(f.Fd()), unix.TIOCGWINSZ)
	if err != nil {
		return 0
	}
	return cmp.Or(int(size.Col), 80)
}

// bar puts a bar in front of a status if the share of its phase that is over is known. The
// result is narrower than the terminal.
func bar(text string, share float64, width int) string {
	const cells = 24
	if share >= 0 {
		full := int(share * cells)
		text = "[" + strings.Repeat("#", full) + strings.Repeat("-", cells-full) + "] " + text
	}
	return text[:min(len(text), max(width-1, 0))]
}

// status returns the state of the run, "window 12/30 s, 12.4M ops/s", with the rate of all
// clients in their last interval, and the share of the phase that is over, -1 if unknown.
func (c *Controller) status(now time.Time) (text string, share float64) {
	clients := c.of(metrics.Client)
	var rate float64
	for _, m := range clients {
		rate += m.interval.OpsPerS()
	}
	var length time.Duration // of the phase
	switch settings := clients[0].settings(); c.phase {
	case metrics.Window:
		length = settings.Length("secs")
	case metrics.WarmUp:
		length = settings.Length("warmup")
		if c.extended {
			length *= 2
		}
	}
	share = -1
	elapsed, of := now.Sub(c.entered), ""
	if length > 0 {
		of = fmt.Sprintf("/%.0f", length.Seconds())
		share = min(1, elapsed.Seconds()/length.Seconds())
	}
	return fmt.Sprintf("%s %.0f%s s, %s ops/s, %s, %s", c.phase, elapsed.Seconds(), of, format.Count(rate),
		format.Plural(c.Plan.Count(metrics.Server), "server"), format.Plural(len(clients), "client")), share
}
