package plots

import (
	"bytes"
	"compress/zlib"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"kvlab/internal/foldertest"
	"kvlab/metrics"
	"kvlab/plots/figure"
	"kvlab/plots/folder"
)

// column is a figure of 3.33 inches with text of 8 points.
var column = Look{Style: figure.Style{Width: 3.33 * 72, Font: 8, Paper: true}}

// Every kind of figure, at the width of a column, has text of 8 points at least, no id, title or
// failure, and is a PDF below 60 kB whose font is a subset.
func TestFiguresOfAPaper(t *testing.T) {
	root := t.TempDir()
	flags := func(engine, records string) map[string]string {
		return map[string]string{"workload": "YCSB-B", "records": records, "value-size": "128", "workers": "8", "engine": engine}
	}
	run := filepath.Join(root, "run")
	foldertest.WriteFolder(t, run, foldertest.MakeRun(t, foldertest.Gallery["invalid"]))
	crowd := filepath.Join(root, "crowd")
	foldertest.WriteFolder(t, crowd, foldertest.MakeRun(t, foldertest.Gallery["crowd"]))
	a, b := foldertest.MakeCurve(t, root, "ca", 1e6, "", flags("syncmap", "1000")), foldertest.MakeCurve(t, root, "cb", 2e6, "", flags("slab", "2000"))
	sides := foldertest.Sides(8, 40, 3)
	for _, test := range []struct {
		name    string
		dirs    []string
		figures string
		labels  string
		note    string
	}{
		{"run", []string{run}, "throughput latency cpu network memory latency_cdf", "", "the run is INVALID("},
		{"crowd", []string{crowd}, "throughput latency cpu network memory latency_cdf", "", ""},
		{"nodes", []string{foldertest.MakeSweep(t, root, foldertest.Sweeps[3])}, "throughput_scaling scaling_batch", "", ""},
		{"sides", []string{foldertest.MakeSweep(t, root, sides)}, "scaling_side", "ours,<redis>", "left out trial 3, side=A: INVALID("},
		{"curves", []string{a, b}, "latency_throughput", "ours,<redis>", ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			load := Pages(nil).Load
			if test.name == "curves" {
				load = func(dirs ...string) (Drawing, error) { return LoadCurves(true, dirs...) }
			}
			d, err := load(test.dirs...)
			if err != nil {
				t.Fatal(err)
			}
			look, out := column, filepath.Join(root, "out", test.name)
			if test.labels != "" {
				look.Labels = strings.Split(test.labels, ",")
			}
			for _, look.Format = range []string{"pdf", "svg"} {
				d, err := d.With(look)
				if err != nil {
					t.Fatal(err)
				}
				if test.note != "" && !slices.ContainsFunc(d.Notes, func(note string) bool { return strings.HasPrefix(note, test.note) }) {
					t.Errorf("notes %q, want %q", d.Notes, test.note)
				}
				files, err := d.Write(out)
				if err != nil {
					t.Fatal(err)
				}
				var names []string
				for _, file := range files {
					text, err := os.ReadFile(file)
					if err != nil {
						t.Fatal(err)
					}
					names = append(names, strings.TrimSuffix(filepath.Base(file), "."+look.Format))
					if look.Format == "pdf" {
						checkPaper(t, file, text)
						continue
					}
					foldertest.CheckXML(t, file, text)
					if !bytes.Contains(text, []byte(`width="239.76pt"`)) || strings.Contains(string(text), "INVALID") || bytes.Contains(text, []byte("failed")) || bytes.Contains(text, []byte("<title>")) {
						t.Errorf("%s is not 3.33 inches wide, or has a failure or a tooltip", file)
					}
					if test.labels != "" && (!bytes.Contains(text, []byte("ours")) || !bytes.Contains(text, []byte("&lt;redis"))) {
						t.Errorf("%s lacks the labels", file)
					}
					sizes(t, file, regexp.MustCompile(`font-size:([0-9.]+)px`), text)
				}
				if got := strings.Join(names, " "); got != test.figures {
					t.Errorf("figures %s, want %s", got, test.figures)
				}
			}
			look.Labels = []string{"a", "b", "c", "d", "e"}
			if _, err := d.With(look); err == nil || !strings.HasPrefix(err.Error(), "--labels has 5 names: ") {
				t.Errorf("five labels: %v", err)
			}
		})
	}
}

// checkPaper wants a PDF of one column, below 60 kB, with a subset of a font and text of 8 points
// or more.
func checkPaper(t *testing.T, file string, pdf []byte) {
	t.Helper()
	if len(pdf) > 60e3 || !bytes.Contains(pdf, []byte("/BaseFont /KVLABS+LiberationSans")) || !bytes.Contains(pdf, []byte("[0 0 239.76 ")) {
		t.Errorf("%s has %d bytes, or no subset of a font, or is not 239.76 points wide", file, len(pdf))
	}
	for _, stream := range bytes.Split(pdf, []byte("stream\n"))[1:] {
		unpacked, err := zlib.NewReader(bytes.NewReader(stream))
		if err != nil {
			continue
		}
		page, _ := io.ReadAll(unpacked)
		if !bytes.Contains(page, []byte(" Tf")) {
			continue
		}
		sizes(t, file, regexp.MustCompile(`/F\S+ ([0-9.]+) Tf`), page)
		for _, m := range regexp.MustCompile(`(?m)^(\S+) (\S+) (\S+) (\S+) \S+ \S+ cm`).FindAllSubmatch(page, -1) {
			var v [4]float64
			for i := range v {
				v[i], _ = strconv.ParseFloat(string(m[i+1]), 64)
			}
			if scale := math.Abs(v[0]*v[3] - v[1]*v[2]); math.Abs(scale-1) > 1e-3 {
				t.Fatalf("%s scales by %v: %s", file, scale, m[0])
			}
		}
		return
	}
	t.Errorf("%s has no text", file)
}

// sizes wants text, and all of it of 8 to 12 points.
func sizes(t *testing.T, file string, size *regexp.Regexp, text []byte) {
	t.Helper()
	all := size.FindAllSubmatch(text, -1)
	for _, m := range all {
		if v, _ := strconv.ParseFloat(string(m[1]), 64); v < 8-0.01 || v > 12 {
			t.Fatalf("%s has text of %v points", file, v)
		}
	}
	if len(all) < 5 {
		t.Errorf("%s has %d texts", file, len(all))
	}
}

// Two systems, each a folder of trials, are in one figure with their intervals.
func TestPaperOfTwoSystems(t *testing.T) {
	root := t.TempDir()
	var dirs []string
	for i, commit := range []string{"aaaaaaa", "bbbbbbb"} {
		for trial := range 6 {
			dir := filepath.Join(root, fmt.Sprint(commit, trial))
			p := foldertest.Plan{ID: fmt.Sprint(commit, trial), Servers: 1, Clients: 1, WindowS: 2, ClientOpsPerS: 1e6 * float64(1+i) * (1 + 0.01*float64(trial)), Verdict: foldertest.Valid, Seed: uint64(trial)}
			files := foldertest.MakeRun(t, p)
			files["run.json"].Data = regexp.MustCompile(`"git_commit": ?"[^"]*"`).ReplaceAll(files["run.json"].Data, []byte(`"git_commit":"`+commit+`"`))
			foldertest.WriteFolder(t, dir, files)
			dirs = append(dirs, dir)
		}
	}
	d, err := Pages(nil).Load(dirs...)
	if err == nil {
		d, err = d.With(Look{Style: column.Style, Labels: []string{"ours", "theirs"}, Format: "svg"})
	}
	if err != nil {
		t.Fatal(err)
	}
	files, err := d.Write(root)
	if err != nil || len(files) != 2 {
		t.Fatalf("%q, %v", files, err)
	}
	for _, file := range files {
		text, _ := os.ReadFile(file)
		if !bytes.Contains(text, []byte(">ours<")) || !bytes.Contains(text, []byte(">theirs<")) {
			t.Errorf("%s lacks a system", file)
		}
	}
}

// The latencies of a sweep are those of its trials' records. A saturated system has none, and
// those of open and of closed loops together are of calls.
func TestLatenciesOfASweep(t *testing.T) {
	root := t.TempDir()
	dir := foldertest.MakeSweep(t, root, foldertest.Sides(2, 1.1))
	for name, file := range foldertest.MakeRun(t, foldertest.Gallery["small"]) {
		for i := range 4 {
			if !strings.HasSuffix(name, ".jsonl") {
				continue
			}
			if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf("trial-%03d", i+1), name), file.Data, 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
	for _, test := range []struct {
		offered float64 // to the trials of B, in ops/s; 0 for closed loops
		systems int
		label   string
		note    string
	}{{0, 2, "latency of calls (ms)", ""}, {1, 2, "latency of calls (ms)", ""}, {1e12, 1, "latency of calls (ms)", "left out of latency_cdf: side B, which was saturated"}} {
		s, err := folder.LoadSweep(dir)
		if err != nil {
			t.Fatal(err)
		}
		for i, trial := range s.Trials {
			if r, err := folder.Load(s.Runs[i].Dir); err != nil {
				t.Fatal(err)
			} else if test.offered > 0 && trial.Point[0] == "B" {
				r.Offered = &metrics.Offered{OpsPerS: test.offered, Ops: uint64(test.offered)}
				s.Runs[i] = r
			}
		}
		figures, notes, err := paperOfSweep(s)
		if err != nil || len(figures) != 1 || strings.Join(notes, "|") != test.note {
			t.Fatalf("%d figures, notes %q, %v", len(figures), notes, err)
		}
		if legend, _ := figures[0].Systems(); len(legend) != test.systems || figures[0].Panels[0].X.Label.Text != test.label {
			t.Errorf("offered %v: systems %q, %s", test.offered, legend, figures[0].Panels[0].X.Label.Text)
		}
	}
}
