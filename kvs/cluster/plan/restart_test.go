package plan

import (
	"strings"
	"testing"
	"time"

	"kvlab/kvs/cluster/nodes"
	"kvlab/metrics"
)

func TestCheckRestart(t *testing.T) {
	for _, test := range []struct {
		name  string
		spoil func(p *Plan, server, client metrics.Settings)
		want  string // in the error; "" for none
	}{
		{"good", func(*Plan, metrics.Settings, metrics.Settings) {}, ""},
		{"in memory", func(_ *Plan, s, _ metrics.Settings) { s["sync"], s["engine"] = "", "slab" }, "-engine slab keeps nothing when its server is killed: want one on disk, such as --engine pebble"},
		{"not synced", func(_ *Plan, s, _ metrics.Settings) { s["sync"] = "none" }, "want --sync os or --sync disk"},
		{"temporary", func(_ *Plan, s, _ metrics.Settings) { s["dir"] = "" }, "want --dir FOLDER"},
		{"foreign", func(_ *Plan, s, _ metrics.Settings) { s["target"] = "redis" }, "want no --target"},
		{"no retry", func(_ *Plan, _, c metrics.Settings) { c["retry"] = "false" }, "want --retry"},
		{"open loop", func(_ *Plan, _, c metrics.Settings) { c["rate"] = "10000" }, "want no --rate"},
		{"too early", func(p *Plan, _, _ metrics.Settings) { p.RestartAt = 2 * time.Second }, "--restart-at 2s: want 3s or more"},
		{"too late", func(p *Plan, _, _ metrics.Settings) { p.RestartAt = 8 * time.Second }, "--restart-at 8s: want 3s or more, and the same time after it in the window, which has 10s (--secs)"},
		{"just in time", func(p *Plan, _, _ metrics.Settings) { p.RestartAt = 7 * time.Second }, ""},
		{"Slurm", func(p *Plan, _, _ metrics.Settings) { p.Places[0].Way.Kind = nodes.Srun }, "not for steps of a Slurm job"},
	} {
		p := Plan{Spec: Spec{RestartAt: 5 * time.Second}, Places: []Place{{Role: metrics.Server}, {Role: metrics.Client}}}
		server := metrics.Settings{"engine": "pebble", "sync": "os", "dir": "/x", "target": "own"}
		client := metrics.Settings{"retry": "true", "secs": "10"}
		test.spoil(&p, server, client)
		err := p.CheckRestart(map[metrics.Role]metrics.Settings{metrics.Server: server, metrics.Client: client})
		if got := err != nil; got != (test.want != "") || got && !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %v, want %q", test.name, err, test.want)
		}
	}
}
