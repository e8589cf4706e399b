package chart

import (
	"bytes"
	"slices"
	"testing"

	"kvlab/internal/foldertest"
	"kvlab/metrics"
	"kvlab/plots/folder"
)

func TestScalingFiguresOfEveryShape(t *testing.T) {
	for _, p := range foldertest.Sweeps {
		t.Run(p.ID, func(t *testing.T) {
			s, err := folder.LoadSweep(foldertest.MakeSweep(t, t.TempDir(), p))
			if err != nil {
				t.Fatal(err)
			}
			for _, f := range ScalingFigures(s) {
				svg, err := f.SVG()
				if err != nil {
					t.Fatal(err)
				}
				foldertest.CheckXML(t, f.Name+".svg", svg)
				failures := slices.ContainsFunc(s.Trials, func(t metrics.Trial) bool { return !t.Verdict.Valid })
				if got := bytes.Contains(svg, []byte("never a data point")); got != failures {
					t.Errorf("%s.svg names failures: %v, there are some: %v", f.Name, got, failures)
				}
			}
		})
	}
}
