package study

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"kvlab/metrics"
)

const example = `title = "A study"
source = "a report"
args = "1 1 --records 1000"
[quick]
rounds = 3
[full]
rounds = 5
args = "--secs 2"
[[point]]
name = "a"
args = "--batch 1"
[[point]]
name = "b"
args = "2 2 --batch 64 --client-args '-warmup 0'"
needs = ["cores=8", "rivals"]
[[claim]]
name = "faster"
text = "b is faster."
kind = "ratio"
points = ["a", "b"]
value = 10
tolerance = "20%"
[[claim]]
name = "zero-copy"
text = "Zero copies are faster."
source = "another report"
cannot = "not built: there is no zero-copy path"
`

func none(string) string { return "" }

func write(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "mine.toml")
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestRead(t *testing.T) {
	f, err := Read(write(t, example))
	if err != nil || f.Name != "mine" || f.Alpha != 0.05 || len(f.Points) != 2 || len(f.Claims) != 2 || f.Claims[0].Value != 10 || f.Claims[0].Tolerance != 0.2 {
		t.Fatalf("%+v, %v", f, err)
	}
	plan, trials := Plan([]File{f}, false, 0, none, none)
	if want := []metrics.StudyPoint{{Name: "a", Args: "1 1 --records 1000 --secs 2 --batch 1"}, {Name: "b", Args: "2 2 --records 1000 --secs 2 --batch 64 --client-args '-warmup 0'"}}; !slices.Equal(plan.Points, want) || !slices.Equal(trials, []int{5, 5}) {
		t.Errorf("points %+v, %v trials", plan.Points, trials)
	}
	c := plan.Claims[0]
	if c.Study != "mine" || c.Source != "a report" || c.Measure != "ops/s" || c.Cannot != "" || plan.Claims[1].Source != "another report" || plan.Claims[1].Cannot == "" {
		t.Errorf("claims %+v", plan.Claims)
	}
}

// Each mistake is one line with the file, the line and the right form.
func TestReadMistakes(t *testing.T) {
	for _, test := range []struct{ old, new, want string }{
		{`title = "A study"`, `titel = "A study"`, "mine.toml:1: unknown key titel; did you mean title?"},
		{`tolerance = "20%"`, `tolerence = "20%"`, "mine.toml:22: unknown key claim.tolerence; did you mean tolerance?"},
		{`tolerance = "20%"`, `tolerance = "20"`, `mine.toml:22: `},
		{`tolerance = "20%"`, ``, `mine.toml:16: claim "faster": tolerance: want one`},
		{`value = 10`, `value = "10"`, "mine.toml:21: "},
		{`value = 10`, ``, `mine.toml:16: claim "faster": value: want one above 0`},
		{`kind = "ratio"`, `kind = "ration"`, `mine.toml:16: claim "faster": kind "ration": want one of ["at-least" "at-most" "linear" "order" "peak" "ratio" "same"]; did you mean ratio?`},
		{`kind = "ratio"`, `kind = "linear"`, `mine.toml:16: claim "faster": value: want`},
		{`["a", "b"]`, `["a", "c"]`, `mine.toml:16: claim "faster": no such point: c`},
		{`points = ["a", "b"]`, `cannot = "no"`, `mine.toml:9: point "a": no claim is about it`},
		{`["a", "b"]`, `["a", "b", "a"]`, `mine.toml:16: claim "faster": 3 points: want 2 to 2`},
		{`kind = "ratio"`, "kind = \"ratio\"\nmeasure = \"op/s\"", `mine.toml:16: claim "faster": measure "op/s": want one of ["ops/s" `},
		{`name = "zero-copy"`, `name = "faster"`, `mine.toml:23: claim "faster": the name is given twice`},
		{`name = "zero-copy"`, `name = "zero copy"`, `mine.toml:23: claim "zero copy": want at most 40 letters`},
		{`cannot = "not`, "points = [\"a\"]\ncannot = \"not", `mine.toml:23: claim "zero-copy": cannot and points`},
		{`rounds = 3`, `rounds = 2`, "mine.toml: want rounds of at least 3"},
		{`"cores=8"`, `"core=8"`, `mine.toml:12: point "b": need "core=8": want cores=N, nodes=N, kernel=X.Y, program=NAME, root, rivals; did you mean cores?`},
		{`"cores=8"`, `"cores=no"`, `mine.toml:12: point "b": need cores=no: want a whole number above 0`},
		{`"cores=8"`, `"kernel=new"`, `mine.toml:12: point "b": need kernel=new: want a version, as in 6.1`},
		{`"cores=8"`, `"root=1"`, `mine.toml:12: point "b": need "root=1": want`},
		{`"--batch 1"`, `"2 2 --batch 64 --client-args '-warmup 0'"`, `mine.toml:16: claim "faster": points a and b have the same arguments: 2 2 --records`},
		{`"--batch 1"`, `"--batch '1"`, `mine.toml:9: point "a": unbalanced '`},
	} {
		_, err := Read(write(t, strings.Replace(example, test.old, test.new, 1)))
		if err == nil || !strings.Contains(err.Error(), test.want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: error %v, want one line with %q", test.new, err, test.want)
		}
	}
	tables := "point = [\n  {name = \"a\", args = \"\"},\n  {name = \"b b\"},\n]\n"
	inline := strings.NewReplacer("[quick]", tables+"[quick]").Replace(example[:strings.Index(example, "[[point]]")] + example[strings.Index(example, "[[claim]]"):])
	if _, err := Read(write(t, inline)); err == nil || !strings.Contains(err.Error(), `mine.toml:6: point "b b": want at most`) {
		t.Errorf("inline tables: %v", err)
	}
	first := Names()[0]
	for list, want := range map[string]string{
		first + "x":         "did you mean " + first + "?",
		first + "," + first: first + " is given twice",
		"no.toml":           "open no.toml: no such file",
	} {
		if _, err := ReadAll(list); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", list, err, want)
		}
	}
}

// The studies that come with kvlab can be read. Their arguments are checked where the
// launcher plans them.
func TestShipped(t *testing.T) {
	files, err := ReadAll("all")
	if err != nil || len(files) != len(Names()) {
		t.Errorf("%d of %d studies, %v", len(files), len(Names()), err)
	}
}

// What a point needs and is not here takes away the claims about it, and the points that
// then have none.
func TestPlanNeeds(t *testing.T) {
	f, err := Read(write(t, example))
	if err != nil {
		t.Fatal(err)
	}
	here := Here{Nodes: 1, Hosts: func() ([]metrics.Host, error) {
		return []metrics.Host{{Cores: 4, Kernel: "6.18.44"}, {Cores: 2, Kernel: "6.1.0-18-amd64"}}, nil
	}, Program: func(string) bool { return false }, Rivals: func() error { return nil }}
	plan, trials := Plan([]File{f}, true, 0, here.Missing, none)
	if len(plan.Points) != 0 || len(trials) != 0 || plan.Claims[0].Cannot != "needs 8 cores, here 4 cores" || !plan.Quick {
		t.Errorf("plan %+v", plan)
	}
	for need, want := range map[string]string{
		"nodes=2": "needs 2 nodes, here 1 node", "nodes=1": "", "cores=2": "", "root": "needs root", "rivals": "",
		"program=redis-server": "needs the program redis-server, which is not here",
		"kernel=6.1":           "", "kernel=5.19": "", "kernel=6.2": "needs Linux 6.2, here 6.1.0-18-amd64", "kernel=10.0": "needs Linux 10.0, here 6.18.44", "cores=3": "needs 3 cores, here 2 cores",
	} {
		if got := here.Missing(need); got != want {
			t.Errorf("%s: %q, want %q", need, got, want)
		}
	}
}

// Points of several studies with the same arguments are measured once, as often as the
// study that wants the most; other points of one name get another name.
func TestPlanShares(t *testing.T) {
	f, err := Read(write(t, example))
	if err != nil {
		t.Fatal(err)
	}
	g := f
	g.Name, g.Full.Rounds, g.Points = "other", 9, slices.Clone(f.Points)
	g.Points[1].Args = "--batch 128"
	plan, trials := Plan([]File{f, g}, false, 0, none, none)
	var names []string
	for _, p := range plan.Points {
		names = append(names, p.Name)
	}
	if !slices.Equal(names, []string{"a", "b", "other/b"}) || !slices.Equal(trials, []int{9, 5, 9}) {
		t.Errorf("points %v, trials %v", names, trials)
	}
	large, _ := Plan([]File{f, g}, false, 0, none, func(args string) string {
		return map[bool]string{true: "needs 4 nodes"}[strings.HasPrefix(args, "2 2 ")]
	})
	if len(large.Points) != 2 || large.Claims[0].Cannot != "needs 4 nodes" || large.Claims[2].Cannot != "" {
		t.Errorf("what does not fit is planned: %+v", large)
	}
	if got := plan.Claims[2].Points; !slices.Equal(got, []string{"a", "other/b"}) || !slices.Equal(f.Claims[0].Points, []string{"a", "b"}) {
		t.Errorf("points of the other study's claim: %v", got)
	}
	if _, trials := Plan([]File{f, g}, false, 4, none, none); !slices.Equal(trials, []int{4, 4, 4}) {
		t.Errorf("trials %v, want 4 of each", trials)
	}
}
