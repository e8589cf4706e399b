package command

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"kvlab/internal/foldertest"
	"kvlab/kvs/verdict/answer"
	"kvlab/metrics"
	"kvlab/plots"
	"kvlab/plots/compare"
	"kvlab/plots/verify"
)

// With --json, every command that answers prints one object, and other commands refuse it.
func TestJSON(t *testing.T) {
	dir := t.TempDir()
	run := filepath.Join(dir, "run")
	foldertest.WriteFolder(t, run, foldertest.MakeRun(t, foldertest.Gallery["cluster"]))
	sweep := foldertest.MakeSweep(t, dir, foldertest.SweepPlan{ID: "sweep", Knobs: []metrics.Knob{foldertest.Knob("nodes", "2", "4")}, Trials: 6, Law: foldertest.Law{4e6, 0.05, 0}, Noise: 0.01, Seed: 1})
	ab := foldertest.MakeSweep(t, dir, foldertest.Sides(8, 1.1))
	p := Program{Commands: []Command{Compare, Verify(), Fields}, Pages: plots.Pages{}}
	said := func(status int, args ...string) (d struct {
		Verdict *metrics.Verdict
		Answer  *answer.Answer
		Figures []compare.Figure
		Lines   []string
		List    []verify.Result
		Folder  string
		Error   string
		Status  *int `json:"exit_status"`
	}) {
		t.Helper()
		var stdout, stderr bytes.Buffer
		got := p.Main(append(args, "--json"), &stdout, &stderr)
		if err := json.Unmarshal(stdout.Bytes(), &d); err != nil || d.Status == nil || *d.Status != status || got != status {
			t.Fatalf("%q: %v, exit status %d, want %d\n%s", args, err, got, status, &stdout)
		}
		if status != 0 && (d.Error == "" || !strings.Contains(stderr.String(), d.Error)) {
			t.Errorf("%q: error %q beside %s", args, d.Error, &stderr)
		}
		return d
	}
	out := t.TempDir()
	if d := said(0, "-out", out, run); d.Verdict == nil || !d.Verdict.Valid || d.Folder != run || len(d.Figures) < 2 || d.Figures[0].Value <= 0 || len(d.Lines) == 0 {
		t.Errorf("a run: %+v", d)
	}
	d := said(0, "-out", out, sweep)
	if len(d.Figures) < 2 || d.Answer == nil || !strings.Contains(d.Answer.Headline, "from 2 to 4 nodes") {
		t.Errorf("a sweep: %+v", d)
	}
	for _, f := range d.Figures[:2] {
		if !(f.Low > 0 && f.Low <= f.Value && f.Value <= f.High) || f.Unit != "ops/s" {
			t.Errorf("a figure without its interval or unit: %+v", f)
		}
	}
	c, err := compare.Variants(ab)
	if err != nil {
		t.Fatal(err)
	}
	headline, _ := c.Headline()
	if d := said(0, "compare", ab); len(d.Figures) != 1 || d.Figures[0].Value != c.Results[0].Ratio() || d.Answer == nil || d.Answer.Headline != headline || d.Lines[len(d.Lines)-1] != headline {
		t.Errorf("a comparison: %+v", d)
	}
	claims := filepath.Join(dir, "claims")
	foldertest.WriteFolder(t, claims, foldertest.MakeRun(t, foldertest.Gallery["small"]))
	var claimed metrics.Run
	if err := metrics.ReadJSON(filepath.Join(claims, "run.json"), &claimed); err != nil {
		t.Fatal(err)
	}
	claimed.Verdict = metrics.Verdict{Claimed: true}
	foldertest.WriteJSON(t, filepath.Join(claims, "run.json"), claimed)
	if d := said(0, "-out", out, claims); d.Verdict == nil || d.Verdict.Valid || !d.Verdict.Claimed || len(d.Figures) == 0 || d.Figures[0].Value == 0 || d.Error != "" {
		t.Errorf("a claim: %+v", d)
	}
	if d := said(0, "compare", run, claims); d.Answer == nil || len(d.Answer.Caveats) != 1 || !strings.HasPrefix(d.Answer.Caveats[0].Text, "B is CLAIMED: ") {
		t.Errorf("a comparison with a claim: %+v", d.Answer)
	}
	if err := os.WriteFile(filepath.Join(run, "more.txt"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if d := said(1, "verify", run); len(d.List) != 1 || len(d.List[0].Differences) == 0 {
		t.Errorf("verify: %+v", d)
	}
	said(2, "verify", out)
	said(2, "compare", run, filepath.Join(dir, "none"))
	said(2, "fields") // it has no answer
}
