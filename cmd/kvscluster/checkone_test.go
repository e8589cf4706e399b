package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"kvlab/extra/grade/evening"
	"kvlab/metrics"
)

// broken are servers of our own, each wrong in its own way.
var broken = []team{
	{dir: "subs/unbuilt", put: "undefined()"},
	{dir: "subs/unused", put: "x := 1"},
	{dir: "subs/syntax", put: "if {"},
	{dir: "subs/exits", main: `panic("no configuration")`},
	{dir: "subs/deaf", main: `select {}`},
	{dir: "subs/refuses", put: `if args.Key != "" { return http.ErrNotSupported }`},
	{dir: "subs/crashes", get: `if calls > 3000 { panic("no more room") }`},
	{dir: "subs/hangs", get: `if calls > 3000 { select {} }`},
	{dir: "subs/wrong", get: `if calls > 3000 && reply.Value != "" { reply.Value = reply.Value[:len(reply.Value)-1] + "?" }`},
	{dir: "subs/loses", put: `if s.keys[args.Key] != "" && len(args.Key)%2 == 0 { return nil }`},
	{dir: "subs/empty", get: `reply.Value = ""`},
	{dir: "subs/hoards", get: `if calls == 10 { start("sh", "-c", "head -c 600000000 /dev/zero | tail | sleep 100").Start() }`},
}

// figures are what differs between two runs of one mistake.
var figures = regexp.MustCompile(`[0-9a-f]*[0-9][0-9a-f]*|, node|worker|: and trial.*`)

// A student's check says of each broken server what the evening says.
func TestCheckOne(t *testing.T) {
	if os.Getenv("KVLAB_LONG") != "1" {
		t.Skip("KVLAB_LONG=1 measures 12 broken servers twice")
	}
	needRoot(t)
	all := append([]team{{dir: "handout"}}, broken...)
	for i := range all {
		all[i].delay = 5 * time.Millisecond
	}
	root, file := build(t), gradingClass(t, "1ms", 1, append(all, team{dir: "late/team-7", delay: 5 * time.Millisecond}))
	launch := func(words ...string) string {
		said, err := exec.Command(filepath.Join(root, "bin", "kvscluster"), append([]string{"grade", file, "--local"}, words...)...).CombinedOutput()
		t.Logf("%q: %v\n%s", words, err, said)
		return strings.Join(strings.Fields(string(said)), " ")
	}
	out := t.TempDir()
	launch("--out", out)
	var s metrics.Standings
	read(t, filepath.Join(out, "latest", metrics.StandingsFile), &s)
	for _, team := range broken {
		name := filepath.Base(team.dir)
		at := slices.IndexFunc(s.Entries, func(e metrics.Standing) bool { return e.Entry == name })
		if at < 0 || s.Entries[at].Verdict.Valid {
			t.Errorf("%s is not INVALID: %+v", name, s.Entries)
			continue
		}
		want := strings.TrimPrefix(s.Entries[at].Reason, "it ")
		if _, after, ok := strings.Cut(want, "INVALID("); ok {
			want = after
		}
		want = figures.Split(strings.Join(strings.Fields(want), " "), 2)[0]
		if said := launch("--check-one", filepath.Join(filepath.Dir(file), team.dir), "--out", t.TempDir()); len(want) < 10 || !strings.Contains(said, want) {
			t.Errorf("%s: the evening says %q, the check %s", name, want, said)
		}
	}
}

// A class of six has one measured once more and one more entry on another evening, and ranks all.
func TestTermOfTwoEvenings(t *testing.T) {
	if os.Getenv("KVLAB_LONG") != "1" {
		t.Skip("KVLAB_LONG=1 measures two evenings")
	}
	needRoot(t)
	six := []team{teams[0], teams[1], teams[2], teams[6], teams[9], teams[10], teams[11], teams[len(teams)-1]}
	root, out, file := build(t), t.TempDir(), gradingClass(t, "40m", 2, six)
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	early := regexp.MustCompile(`(?s)\[\[entry\]\]\nname = "team-7".*?\n\n`).ReplaceAllString(string(text), "\n")
	launch := func(words ...string) {
		t.Helper()
		said, err := exec.Command(filepath.Join(root, "bin", "kvscluster"), append([]string{"grade"}, words...)...).CombinedOutput()
		t.Logf("%q: %v\n%s", words, err, said)
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(file, []byte(early), 0o644); err != nil {
		t.Fatal(err)
	}
	launch(file, "--local", "--out", out, "--seed", "21")
	dir, err := filepath.EvalSymlinks(filepath.Join(out, "latest"))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, text, 0o644); err != nil {
		t.Fatal(err)
	}
	launch(dir, "--add", "team-7", "--local")
	launch(dir, "--regrade", "tenth", "--local")
	term, err := evening.Load(dir)
	if err != nil || len(term.Evenings) != 3 || len(term.Evenings[1].Plan.Class.Subject) == 0 {
		t.Fatalf("%d evenings, %v", len(term.Evenings), err)
	}
	var s metrics.Standings
	read(t, filepath.Join(dir, metrics.StandingsFile), &s)
	for _, e := range s.Entries {
		i := slices.IndexFunc(six, func(team team) bool { return filepath.Base(team.dir) == e.Entry })
		truth := float64(six[0].delay) / float64(six[i].delay)
		if !e.Verdict.Valid || e.RatioHigh < 1.1*e.RatioLow && (e.Ratio < 0.9*truth || e.Ratio > 1.1*truth) {
			t.Errorf("%+v, want a ratio of %.2f", e, truth)
		}
		for _, faster := range e.Faster {
			if j := slices.IndexFunc(six, func(team team) bool { return filepath.Base(team.dir) == faster }); six[j].delay >= six[i].delay {
				t.Errorf("%s is ranked above %s", faster, e.Entry)
			}
		}
	}
}
