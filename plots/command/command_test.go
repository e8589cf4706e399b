package command

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"kvlab/metrics/build"
)

// kvsplot has the core's commands.
var kvsplot = Program{Commands: []Command{Grade, Compare, Verify, Checks, Fields, Curves}}

// writeRun leaves a small run folder below dir.
func writeRun(t *testing.T, dir, run string) string {
	t.Helper()
	folder := filepath.Join(dir, filepath.FromSlash(strings.Fields(run)[0]))
	if err := os.MkdirAll(folder, 0o755); err != nil {
		t.Fatal(err)
	}
	text := strings.TrimPrefix(run, strings.Fields(run)[0])
	if err := os.WriteFile(filepath.Join(folder, "run.json"), []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	return folder
}

const (
	validRun   = `good {"schema":2,"id":"good","nodes":[{"name":"a","role":"server"},{"name":"b","role":"client"}],"ops_per_s":1e6,"window_s":5,"verdict":{"valid":true}}`
	invalidRun = `bad {"schema":2,"id":"bad","nodes":[{"name":"a","role":"server"}],"ops_per_s":9e9,"window_s":5,"verdict":{"valid":false,"reason":"misses"}}`
	corruptRun = "corrupt {\n\n\"id\": }"
)

func TestRun(t *testing.T) {
	dir := t.TempDir()
	good, bad, corrupt := writeRun(t, dir, validRun), writeRun(t, dir, invalidRun), writeRun(t, dir, corruptRun)
	latest := filepath.Join(dir, "latest")
	if err := os.Symlink("good", latest); err != nil {
		t.Fatal(err)
	}
	out := filepath.Join(dir, "new", "pictures")
	sweep, half, changed := filepath.Join(dir, "sweep"), filepath.Join(dir, "half"), filepath.Join(dir, "changed")
	for name, text := range map[string]string{
		"sweep/sweep.json":         `{"schema":2,"id":"sweep","trials_per_point":1,"order":[{"number":1}]}`,
		"sweep/trials.json":        `[{"schema":2,"number":1,"folder":"trial-001","ops_per_s":1e6,"verdict":{"valid":true}}]`,
		"sweep/trial-001/run.json": strings.TrimPrefix(validRun, "good "),
		"half/sweep.json":          `{"id":`,
		"changed/run.json":         strings.Replace(strings.TrimPrefix(validRun, "good "), "{", `{"git_commit":"c",`, 1),
		"changed/manifest.json":    `{"schema":2,"files":[{"name":"summary.txt","bytes":1,"sha256":"x"}]}`,
	} {
		file := filepath.Join(dir, filepath.FromSlash(name))
		if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o755), os.WriteFile(file, []byte(text), 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	scale := filepath.Join(dir, "scale.toml")
	if err := os.WriteFile(scale, []byte(`score.steps = ["0.8M 82 %", "1.6M 88 %"]`), 0o644); err != nil {
		t.Fatal(err)
	}
	plain := filepath.Join(dir, "plain")
	if err := os.WriteFile(plain, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		name       string
		args       []string
		want       int
		wantOut    string
		wantErr    string
		wantFolder string
		wantFile   string
	}{
		{name: "help", args: []string{"-h"}, wantOut: "usage: kvsplot"},
		{name: "version", args: []string{"-version"}, wantOut: "kvsplot " + build.Version + " ("},
		{name: "no folder", want: 2, wantErr: "kvsplot: no run folder named"},
		{name: "unknown flag", args: []string{"-o", "x", good}, want: 2, wantErr: "kvsplot: --o: unknown flag"},
		{name: "not there", args: []string{filepath.Join(dir, "none")}, want: 2, wantErr: "none"},
		{name: "corrupt", args: []string{corrupt}, want: 2, wantErr: "corrupt: run.json:3: "},
		{name: "through a link", args: []string{latest}, wantOut: "verdict VALID", wantFile: filepath.Join(good, "report.html")},
		{name: "elsewhere", args: []string{"-out", out, good}, wantOut: filepath.Join(out, "cpu.pdf") + "\n", wantFile: filepath.Join(out, "cpu.pdf")},
		{name: "unwritable", args: []string{"-out", plain, good}, want: 1, wantErr: "make the folder for figures"},
		{name: "several", args: []string{"-out", out, good, bad, latest}, wantErr: "kvsplot: left out bad: INVALID(misses)\n",
			wantOut: "throughput_scaling.pdf\n", wantFile: filepath.Join(out, "throughput_scaling.png")},
		{name: "none valid", args: []string{"-out", out, bad, bad}, want: 2, wantErr: "none of the runs is valid"},
		{name: "grade", args: []string{"grade", scale, good}, wantOut: "grade 82 %\n  judged on 1M ops/s: one trial, no interval"},
		{name: "grade of nothing valid", args: []string{"grade", scale, bad}, wantOut: "no grade: the verdict is INVALID(misses)"},
		{name: "grade without a run", args: []string{"grade", scale}, want: 2, wantErr: "kvsplot: want kvsplot grade FILE RUN"},
		{name: "grade without a scale", args: []string{"grade", corrupt + "/run.json", good}, want: 2, wantErr: "run.json: want a TOML file with the tables work and score, such as plots/grades.toml"},
		{name: "grade of no run", args: []string{"grade", scale, dir}, want: 2, wantErr: "not a run folder: "},
		{name: "sweep", args: []string{sweep}, wantOut: filepath.Join(sweep, "report.html") + "\n\n1M ops/s, the median of 1 trial, too few for a 95 % interval, which needs 6\nverdict VALID (1 trial)\n", wantFile: filepath.Join(sweep, "throughput_trials.png")},
		{name: "sweep elsewhere, flag at the end", args: []string{sweep, "-out", out}, wantOut: filepath.Join(out, "throughput_trials.png"), wantFile: filepath.Join(out, "throughput_trials.png")},
		{name: "sweep among runs", args: []string{"-out", out, good, sweep}, wantOut: "throughput_scaling.pdf\n"},
		{name: "compare", args: []string{"compare", good, sweep}, wantOut: "cannot tell apart: B/A is 1.000, but with 1 and 1 trials it has no interval, which needs 3 of each\n"},
		{name: "compare nothing", args: []string{"compare"}, want: 2, wantErr: "kvsplot: want kvsplot compare A B"},
		{name: "compare with nothing", args: []string{"compare", good}, want: 2, wantErr: "good is not a folder of --ab: name two to compare, as in kvsplot compare A B"},
		{name: "compare with an empty name", args: []string{"compare", good + ",", sweep}, want: 2, wantErr: "kvsplot: a folder's name is empty"},
		{name: "verify a run without records", args: []string{"verify", good}, want: 1, wantErr: "kvsplot: 1 folder not as recorded",
			wantOut: "run.json: ops_per_s: recorded is 1000000, the records give 0\n"},
		{name: "draw a folder that has changed", args: []string{changed, "-out", out}, wantErr: "kvsplot: " + changed + " is not as the launcher left it (kvsplot verify tells more): summary.txt: the file is missing\n"},
		{name: "verify nothing", args: []string{"verify"}, want: 2, wantErr: "kvsplot: want kvsplot verify RUN"},
		{name: "verify no run", args: []string{"verify", dir}, want: 2, wantErr: "not a run folder"},
		{name: "out before a command that has it", args: []string{"-out", out, "curves", good, good}, want: 2, wantErr: "good is not a sweep's folder"},
		{name: "out before a command without it", args: []string{"-out", out, "verify", good}, want: 2, wantErr: "kvsplot: --out: unknown flag (see kvsplot -h)"},
		{name: "checks with a word", args: []string{"checks", good}, want: 2, wantErr: "kvsplot: want kvsplot checks without further words"},
		{name: "half a sweep", args: []string{half}, want: 2, wantErr: "half/sweep.json:1: "},
	} {
		t.Run(test.name, func(t *testing.T) {
			var stdout, stderr bytes.Buffer
			if got := kvsplot.Main(test.args, &stdout, &stderr); got != test.want {
				t.Errorf("exit status %d, want %d", got, test.want)
			}
			if !strings.Contains(stdout.String(), test.wantOut) {
				t.Errorf("standard output is %q, want %q in it", stdout.String(), test.wantOut)
			}
			if !strings.Contains(stderr.String(), test.wantErr) {
				t.Errorf("standard error is %q, want %q in it", stderr.String(), test.wantErr)
			}
			if test.want == 2 && strings.Count(stderr.String(), "kvsplot: ") > 2 {
				t.Errorf("standard error is %q, want one clear line", stderr.String())
			}
			if _, err := os.Stat(test.wantFile); test.wantFile != "" && errors.Is(err, fs.ErrNotExist) {
				t.Errorf("%s was not written", test.wantFile)
			}
		})
	}
}
