package plots

import (
	"bytes"
	"path/filepath"
	"slices"
	"testing"

	"kvlab/metrics"
	"kvlab/plots/figure"
)

func TestScalingFiguresOfEveryShape(t *testing.T) {
	for _, p := range sweeps {
		t.Run(p.id, func(t *testing.T) {
			s, err := LoadSweep(makeSweep(t, folder(t), p))
			if err != nil {
				t.Fatal(err)
			}
			for _, f := range ScalingFigures(s) {
				svg, err := f.SVG()
				if err != nil {
					t.Fatal(err)
				}
				checkXML(t, f.Name+".svg", svg)
				if *keep != "" {
					if _, err := write([]figure.Figure{f}, nil, filepath.Join(*keep, p.id)); err != nil {
						t.Fatal(err)
					}
				}
				failures := slices.ContainsFunc(s.Trials, func(t metrics.Trial) bool { return !t.Verdict.Valid })
				if got := bytes.Contains(svg, []byte("never a data point")); got != failures {
					t.Errorf("%s.svg names failures: %v, there are some: %v", f.Name, got, failures)
				}
			}
		})
	}
}
