package chart

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"kvlab/internal/foldertest"
	"kvlab/metrics"
	"kvlab/plots/folder"
)

func TestFiguresOfEveryShape(t *testing.T) {
	for name, p := range foldertest.Gallery {
		t.Run(name, func(t *testing.T) {
			r := loadRun(t, foldertest.MakeRun(t, p))
			for _, f := range Figures(r) {
				svg, err := f.SVG()
				if err != nil {
					t.Fatal(err)
				}
				foldertest.CheckXML(t, f.Name+".svg", svg)
				if got := bytes.Contains(svg, []byte(">INVALID(")); got == r.Verdict.Valid {
					t.Errorf("%s.svg says INVALID: %v, the verdict is %s", f.Name, got, r.Verdict)
				}
			}
		})
	}
}

// Figures over time mark the kill of a server and its first reply after it.
func TestOutageIsMarked(t *testing.T) {
	r := loadRun(t, foldertest.MakeRun(t, foldertest.Plan{Servers: 1, Clients: 1, WindowS: 8, ClientOpsPerS: 1e6, Verdict: foldertest.Valid, Seed: 3}))
	lines := func() int {
		svg, err := Figures(r)[0].SVG() // throughput
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.Contains(string(svg), "node0 killed, and its first reply"); got != (r.Restart != nil) {
			t.Errorf("the legend has an outage: %v", got)
		}
		return strings.Count(string(svg), "stroke-dasharray")
	}
	before := lines()
	r.Restart = &metrics.Restart{Server: "node0", AtS: 3, FirstReplyS: new(0.5)}
	if n := lines() - before; n != 3 {
		t.Errorf("%d more dashed lines, want two in the panel and one in the legend", n)
	}
}

// A long load does not fill a figure: the window has two thirds of what is before its end. What
// is left out does not set the height.
func TestTheWindowIsInView(t *testing.T) {
	r := loadRun(t, foldertest.MakeRun(t, foldertest.Plan{Servers: 1, Clients: 1, WindowS: 8, ClientOpsPerS: 1e6, Verdict: foldertest.Valid, Seed: 3}))
	start, _ := r.WorkSpan()
	for i := range r.Logs {
		for j := range r.Logs[i].Intervals { // the load was 100 s earlier, and faster
			if s := &r.Logs[i].Intervals[j]; s.Phase == metrics.Load {
				s.Time = s.Time.Add(-100 * time.Second)
				s.Values[folder.OpsPerS] = 9e6
			}
		}
	}
	if long, _ := r.WorkSpan(); long > start-99 {
		t.Fatalf("the work begins at %v s, want a long load", long)
	}
	p := Figures(r)[0].Panels[0]
	if p.X.Min != -4 || p.Y.Max > 2e6 {
		t.Errorf("the figure begins at %v s and ends at %v ops/s", p.X.Min, p.Y.Max)
	}
}
