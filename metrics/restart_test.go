package metrics

import (
	"strings"
	"testing"
)

func TestRestartText(t *testing.T) {
	r := &Restart{Server: "node0", AtS: 10.04, ReadyS: 0.2, BeforeOpsPerS: 51234, UnknownOps: 4096}
	if text := r.String(); text != "node0 was killed 10.0 s into the window and ready again after 0.200 s, no reply after that; back at 90 % of 51.2k ops/s not within the window; 4096 operations of unknown outcome" {
		t.Error(text)
	}
	r.FirstReplyS, r.RecoveredS = new(0.25), new(1.5)
	if text := r.String(); !strings.Contains(text, "its first reply after 0.250 s; back at 90 % of 51.2k ops/s after 1.500 s;") {
		t.Error(text)
	}
	if !r.Of("node0") || r.Of("node1") || (*Restart)(nil).Of("node0") {
		t.Error("the wrong server was killed")
	}
}
