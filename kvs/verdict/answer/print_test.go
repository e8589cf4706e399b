package answer

import (
	"strings"
	"testing"
)

// Colours are for terminals, and the words stay without them.
func TestPainter(t *testing.T) {
	if got := painterOf(&strings.Builder{}).paint(red, "INVALID"); got != "INVALID" {
		t.Errorf("off a terminal: %q", got)
	}
	if got := painter(true).paint(red, "INVALID"); got != "\x1b[1;31mINVALID\x1b[0m" {
		t.Errorf("on a terminal: %q", got)
	}
}
