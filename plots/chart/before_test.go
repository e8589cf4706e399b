package chart

import (
	"archive/zip"
	"encoding/json"
	"errors"
	"maps"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"testing"

	"gonum.org/v1/plot/plotter"
	"kvlab/metrics"
	"kvlab/plots/folder"
)

// The curves of three folders that an older version wrote (a run, two trials, a
// sweep of batch) keep the points that the older version drew: testdata/before.zip
// holds the folders and, in curves.json, the points. The older version drew the
// part-seconds at the ends of the phases too, of which a curve over time has a few.
func TestOlderFoldersKeepTheirCurves(t *testing.T) {
	dir := t.TempDir()
	archive, err := zip.OpenReader(filepath.Join("testdata", "before.zip"))
	if err != nil {
		t.Fatal(err)
	}
	defer archive.Close()
	if err := os.CopyFS(dir, archive); err != nil {
		t.Fatal(err)
	}
	var want map[string]plotter.XYs
	text, err := os.ReadFile(filepath.Join(dir, "curves.json"))
	if err := errors.Join(err, json.Unmarshal(text, &want)); err != nil {
		t.Fatal(err)
	}
	got := curvesBelow(t, dir)
	if a, b := slices.Sorted(maps.Keys(got)), slices.Sorted(maps.Keys(want)); !slices.Equal(a, b) {
		t.Fatalf("curves %q, want %q", a, b)
	}
	near := func(a, b plotter.XY) bool { return math.Abs(a.X-b.X) < 1e-9 && math.Abs(a.Y-b.Y) <= 1e-9*math.Abs(b.Y) }
	overTime := regexp.MustCompile("^(throughput|cpu|memory|received|sent|total) ")
	for name, points := range want {
		if overTime.MatchString(name) {
			for i := 0; i < len(points) && len(points) <= len(got[name])+5; i++ {
				if i == len(got[name]) || !near(got[name][i], points[i]) {
					points = slices.Delete(points, i, i+1) // a part-second
					i--
				}
			}
		}
		if !slices.EqualFunc(got[name], points, near) {
			t.Errorf("%s has the points %v, want %v", name, got[name], points)
		}
	}
}

// curvesBelow returns the points of the curves of the three folders.
func curvesBelow(t *testing.T, dir string) map[string]plotter.XYs {
	t.Helper()
	curves := map[string]plotter.XYs{}
	r, err := folder.Load(filepath.Join(dir, "run"))
	if err != nil {
		t.Fatal(err)
	}
	for quantity, of := range map[string]folder.Quantity{"throughput": folder.OpsPerS, "cpu": folder.CPU, "memory": folder.Memory, "received": folder.Received, "sent": folder.Sent} {
		for _, s := range r.Series(of) {
			curves[quantity+" of "+s.Node] = s.Points
		}
	}
	curves["total throughput"] = r.TotalThroughput()
	for phase, span := range r.Phases() {
		curves["phase "+string(phase)] = plotter.XYs{{X: span[0], Y: span[1]}}
	}
	reach := supportedNines(r.Latencies.Call.TotalCount())
	curves["latency of calls"] = latencyCurve(r.Latencies.Call, reach)
	curves["latency of ops"] = latencyCurve(r.Latencies.Op, reach)
	for _, name := range []string{"trials", "sweep"} {
		s, err := folder.LoadSweep(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		for _, point := range s.Points {
			estimate, _ := point.Estimate()
			points := plotter.XYs{{X: 0, Y: estimate.Median}}
			for i, rate := range point.Rates() {
				points = append(points, plotter.XY{X: float64(i + 1), Y: rate})
			}
			curves[name+" "+metrics.PointName(s.Knobs, point.Values)] = points
		}
	}
	return curves
}
