package plots

import (
	"path/filepath"
	"strings"
	"testing"

	"kvlab/internal/foldertest"
)

// Curves of two engines are named by them, drawn in one figure, and listed; curves of
// different work are refused with the difference.
func TestLoadCurves(t *testing.T) {
	root := t.TempDir()
	flags := func(engine, records string) map[string]string {
		return map[string]string{"workload": "YCSB-B", "records": records, "value-size": "128", "seed": engine, "workers": "8", "engine": engine}
	}
	a := foldertest.MakeCurve(t, root, "a", 1e6, "", flags("syncmap", "1000"))
	b := foldertest.MakeCurve(t, root, "b", 2e6, "p99=20us", flags("slab", "1000"))
	d, err := LoadCurves(false, a, b)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"A engine syncmap, git commit ca, " + a, "B engine slab, git commit cb, " + b, "knee at 500k ops/s", "knee at 1M ops/s", "SLO p99=20µs: kept up to 1.7", "120%"} {
		if !strings.Contains(d.Summary, want) {
			t.Errorf("the summary has no %q:\n%s", want, d.Summary)
		}
	}
	out := filepath.Join(root, "out")
	files, err := d.Write(out)
	if err != nil || len(files) != 2 {
		t.Fatalf("files %q, %v", files, err)
	}
	checkPNG(t, filepath.Join(out, "latency_throughput.png"))

	other := foldertest.MakeCurve(t, root, "other", 1e6, "", flags("syncmap", "2000"))
	sweep := foldertest.MakeSweep(t, root, foldertest.Sweeps[7])
	for _, test := range []struct {
		dirs []string
		want string
	}{
		{[]string{a, other}, "the curves are of different work: " + a + " has records 1000; " + other + " has records 2000"},
		{[]string{a}, "want kvsplot curves A B"},
		{[]string{a, sweep}, sweep + " has no curve"},
		{[]string{a, root}, "is not a sweep's folder"},
	} {
		if _, err := LoadCurves(false, test.dirs...); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%q: error %v, want %q", test.dirs, err, test.want)
		}
	}
	page, err := Pages(nil).Load(b)
	if err != nil || !strings.Contains(string(page.files[0].Text), "<p class=\"headline\">SLO p99=20µs: kept up to 1.7") || !strings.HasSuffix(page.Summary, "\nverdict VALID (36 trials)\n") {
		t.Errorf("error %v, summary:\n%s", err, page.Summary)
	}
}
