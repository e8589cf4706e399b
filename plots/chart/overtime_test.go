package chart

import (
	"bytes"
	"testing"

	"kvlab/plots/folder/foldertest"
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
