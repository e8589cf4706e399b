package plots

import (
	"path/filepath"
	"slices"
	"testing"

	"kvlab/internal/foldertest"
)

func TestDrawOfASweep(t *testing.T) {
	dir := foldertest.MakeSweep(t, t.TempDir(), foldertest.Sweeps[0])
	files, err := Pages(nil).Draw(dir)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, file := range files {
		names = append(names, filepath.Base(file))
	}
	if want := []string{"throughput_scaling.png", "throughput_scaling.pdf", "report.html"}; !slices.Equal(names, want) {
		t.Errorf("Draw wrote %v, want %v", names, want)
	}
	checkPNG(t, filepath.Join(dir, "throughput_scaling.png"))
}
