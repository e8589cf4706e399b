package main

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"kvlab/metrics/build"
)

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
		{name: "help on a command", args: []string{"export", "-h"}, wantOut: "all tables into this folder"},
		{name: "not there", args: []string{filepath.Join(dir, "none")}, want: 2, wantErr: "none"},
		{name: "corrupt", args: []string{corrupt}, want: 2, wantErr: "corrupt: run.json:3: "},
		{name: "through a link", args: []string{latest}, wantOut: "verdict VALID", wantFile: filepath.Join(good, "report.html")},
		{name: "elsewhere", args: []string{"-out", out, good}, wantOut: filepath.Join(out, "cpu.svg") + "\n", wantFile: filepath.Join(out, "cpu.svg")},
		{name: "unwritable", args: []string{"-out", plain, good}, want: 1, wantErr: "make the folder for figures"},
		{name: "several", args: []string{"-out", out, good, bad, latest}, wantErr: "kvsplot: left out bad: INVALID(misses)\n",
			wantOut: "throughput_scaling.svg\n", wantFile: filepath.Join(out, "throughput_scaling.png")},
		{name: "none valid", args: []string{"-out", out, bad, bad}, want: 2, wantErr: "none of the runs is valid"},
		{name: "grade", args: []string{"grade", "../../plots/grades.txt", good}, wantOut: "grade 82 %\n  judged on 1M ops/s: one trial, no interval"},
		{name: "grade of nothing valid", args: []string{"grade", "../../plots/grades.txt", bad}, wantOut: "no grade: the verdict is INVALID(misses)"},
		{name: "grade without a run", args: []string{"grade", "../../plots/grades.txt"}, want: 2, wantErr: "kvsplot: want kvsplot grade FILE RUN"},
		{name: "grade without a scale", args: []string{"grade", corrupt + "/run.json", good}, want: 2, wantErr: "run.json:1: \"{\": want operations per second and per cent"},
		{name: "grade of no run", args: []string{"grade", "../../plots/grades.txt", dir}, want: 2, wantErr: "not a run folder: "},
		{name: "sweep", args: []string{sweep}, wantOut: filepath.Join(sweep, "report.html") + "\n\n1M ops/s, the median of 1 trial, too few for a 95 % interval, which needs 6\nverdict VALID (1 trial)\n", wantFile: filepath.Join(sweep, "throughput_trials.svg")},
		{name: "sweep elsewhere, flag at the end", args: []string{sweep, "-out", out}, wantOut: filepath.Join(out, "throughput_trials.png"), wantFile: filepath.Join(out, "throughput_trials.png")},
		{name: "sweep among runs", args: []string{"-out", out, good, sweep}, wantOut: "throughput_scaling.svg\n"},
		{name: "compare", args: []string{"compare", good, sweep}, wantOut: "cannot tell apart: B/A is 1.000, but with 1 and 1 trials it has no interval, which needs 3 of each\n"},
		{name: "compare nothing", args: []string{"compare"}, want: 2, wantErr: "kvsplot: want kvsplot compare A B"},
		{name: "compare with nothing", args: []string{"compare", good}, want: 2, wantErr: "good is not a folder of --ab: name two to compare, as in kvsplot compare A B"},
		{name: "compare with an empty name", args: []string{"compare", good + ",", sweep}, want: 2, wantErr: "kvsplot: a folder's name is empty"},
		{name: "verify a run without records", args: []string{"verify", good}, want: 1, wantErr: "kvsplot: 1 folder not as recorded",
			wantOut: "run.json: ops_per_s: recorded is 1000000, the records give 0\n"},
		{name: "draw a folder that has changed", args: []string{changed, "-out", out}, wantErr: "kvsplot: " + changed + " is not as the launcher left it (kvsplot verify tells more): summary.txt: the file is missing\n"},
		{name: "pack a folder that has changed", args: []string{"pack", changed}, want: 2, wantErr: "summary.txt: the file is missing"},
		{name: "verify nothing", args: []string{"verify"}, want: 2, wantErr: "kvsplot: want kvsplot verify RUN"},
		{name: "verify no run", args: []string{"verify", dir}, want: 2, wantErr: "not a run folder"},
		{name: "list", args: []string{"list", dir}, wantOut: "INVALID                          misses; 1+0\n"},
		{name: "list nothing", args: []string{"list", out}, want: 2, wantErr: "kvsplot: " + out + " has no run folder"},
		{name: "list what is not there", args: []string{"list", filepath.Join(dir, "none")}, want: 2, wantErr: "no such file"},
		{name: "list two folders", args: []string{"list", dir, dir}, want: 2, wantErr: "kvsplot: want one folder of runs, such as logs"},
		{name: "list with a flag", args: []string{"list", "--html", dir}, want: 2, wantErr: "kvsplot: --html: unknown flag"},
		{name: "serve to all", args: []string{"serve", dir, "-addr", "0.0.0.0:7070"}, want: 2, wantErr: "kvsplot: -addr 0.0.0.0:7070: not a loopback address: want 127.0.0.1:PORT"},
		{name: "serve what is not there", args: []string{"serve", filepath.Join(dir, "none")}, want: 2, wantErr: "no such file"},
		{name: "serve with a wrong flag", args: []string{"serve", "-adr", "x"}, want: 2, wantErr: "--adr: unknown flag; did you mean --addr?"},
		{name: "pack nothing", args: []string{"pack", "-o", out}, want: 2, wantErr: "kvsplot: want kvsplot pack RUN"},
		{name: "pack a run of no commit", args: []string{"pack", good, "-o", out}, want: 2, wantErr: "good has no git commit"},
		{name: "half a sweep", args: []string{half}, want: 2, wantErr: "half/sweep.json:1: "},
	} {
		t.Run(test.name, func(t *testing.T) {
			var stdout, stderr bytes.Buffer
			err := run(test.args, &stdout, &stderr)
			if got := status(err, &stderr); got != test.want {
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

// An interrupt ends the page in order.
func TestServeUntilInterrupted(t *testing.T) {
	dir := t.TempDir()
	writeRun(t, dir, validRun)
	said, stdout := io.Pipe()
	ended := make(chan error, 1)
	go func() { ended <- run([]string{"serve", "-addr", "127.0.0.1:0", dir}, stdout, io.Discard) }()
	line, err := bufio.NewReader(said).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	answer, err := http.Get(strings.Fields(line)[0])
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	if page, err := io.ReadAll(answer.Body); err != nil || !strings.Contains(string(page), "./good/") {
		t.Errorf("%v: the page has no link to the run:\n%s", err, page)
	}
	if err := syscall.Kill(os.Getpid(), syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	if err := <-ended; err != nil {
		t.Error(err)
	}
}
