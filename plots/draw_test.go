package plots

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"kvlab/internal/foldertest"
	"kvlab/metrics"
)

func TestDrawOfASweep(t *testing.T) {
	dir := foldertest.MakeSweep(t, t.TempDir(), foldertest.Sweeps[0])
	files, err := Draw(dir)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, file := range files {
		names = append(names, filepath.Base(file))
	}
	if want := []string{"throughput_scaling.png", "throughput_scaling.svg", "throughput_scaling.pdf", "report.html"}; !slices.Equal(names, want) {
		t.Errorf("Draw wrote %v, want %v", names, want)
	}
	checkPNG(t, filepath.Join(dir, "throughput_scaling.png"))
}

// A class has pages and tables instead of figures. What a gradebook lacks is an error, and
// everything else is written.
func TestDrawOfAClass(t *testing.T) {
	export := filepath.Join(t.TempDir(), "export.csv")
	if err := os.WriteFile(export, []byte("Student,ID,SIS User ID,SIS Login ID,Section,L (1)\nann,1,,,A,\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	dir := foldertest.MakeClass(t, t.TempDir(), foldertest.ClassPlan{ID: "class", Names: []string{"base", "ann", "lossy", "broken"}, Rounds: 6, Ended: "enough", Seed: 31,
		Gradebook: &metrics.Gradebook{Canvas: export, Assignment: "L (1)", Points: 100}})
	files, err := Draw(dir)
	if err == nil || !strings.Contains(err.Error(), `canvas.csv: entry "broken": 0 lines are of "broken"`) {
		t.Error(err)
	}
	want := []string{"leaderboard.html", "grades.csv", "canvas.csv"}
	for _, name := range []string{"base", "ann", "lossy", "broken"} {
		want = append(want, "entries/"+name+"/report.html", "entries/"+name+"/results.json")
	}
	if len(files) != len(want) {
		t.Errorf("Draw wrote %v, want %v", files, want)
	}
	for _, name := range want {
		if _, err := os.Stat(filepath.Join(dir, name)); err != nil {
			t.Error(err)
		}
	}
}
