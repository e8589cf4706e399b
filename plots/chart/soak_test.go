package chart

import (
	"slices"
	"testing"
	"testing/fstest"

	"kvlab/internal/foldertest"
	"kvlab/metrics"
	"kvlab/plots/figure"
	"kvlab/plots/folder"
)

func TestSoakFigureIsOfSoaksAlone(t *testing.T) {
	r := loadRun(t, foldertest.MakeRun(t, foldertest.Plan{ID: "soak", Servers: 1, Clients: 1, WindowS: 30, ClientOpsPerS: 1e6, Verdict: foldertest.Valid, Seed: 8}))
	drawn := func() int {
		return slices.IndexFunc(Figures(r), func(f figure.Figure) bool { return f.Name == "soak" })
	}
	if drawn() >= 0 {
		t.Error("a run that is no soak has the figure of one")
	}
	for i := range r.Nodes {
		r.Nodes[i].Soak = &metrics.Soak{}
	}
	for i := range r.Logs {
		for k := range r.Logs[i].Usages {
			held := &r.Logs[i].Usages[k].Values
			held[folder.RSS], held[folder.Goroutines], held[folder.OpenFiles] = 90, float64(60+100*i), float64(70+i)
		}
	}
	at := drawn()
	if at < 0 {
		t.Fatal("a soak has no figure")
	}
	f := Figures(r)[at]
	for i, top := range []float64{100, 200, 80} { // 90 MB, 160 goroutines, 71 descriptors, rounded up
		if p := f.Panels[i]; p.Y.Min != 0 || p.Y.Max < top*0.8 || p.Y.Max > top*1.25 {
			t.Errorf("panel %s goes from %v to %v, want 0 to about %v", p.Y.Label.Text, p.Y.Min, p.Y.Max, top)
		}
	}
	svg, err := f.SVG()
	if err != nil {
		t.Fatal(err)
	}
	foldertest.CheckXML(t, "soak.svg", svg)
}

// loadRun loads files or fails the test.
func loadRun(t testing.TB, files fstest.MapFS) *folder.Run {
	t.Helper()
	dir := t.TempDir()
	foldertest.WriteFolder(t, dir, files)
	r, err := folder.Load(dir)
	if err != nil {
		t.Fatal(err)
	}
	return r
}
