package class

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"kvlab/metrics"
)

const rest = `
[work]
workload = "YCSB-B"
records = 1000
value_size = 100
least_secs = 1
args = "1 1 --batch 8"
allow = ["ONE MACHINE"]
[score]
steps = ["0.5x 60 %", "1x 80%"]
`

// write writes a class file and the folders beside it, which have a file of the name after
// the colon.
func write(t *testing.T, text string, folders ...string) string {
	t.Helper()
	dir := t.TempDir()
	for _, folder := range folders {
		name, file, _ := strings.Cut(folder, ":")
		if err := os.MkdirAll(filepath.Join(dir, name), 0o755); err != nil {
			t.Fatal(err)
		}
		if file != "" {
			if err := os.WriteFile(filepath.Join(dir, name, file), []byte("module kvlab\n"), 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
	path := filepath.Join(dir, "class.toml")
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

func accept(string) error { return nil }

// A mistake is an error that names the line, and the right form.
func TestFileErrors(t *testing.T) {
	const head = "title = \"T\"\n[reference]\n" // entries begin in line 3
	for text, want := range map[string]string{
		"titel = \"x\"":                                  ":1: unknown key titel; did you mean title?",
		"title = \"x\"\n[wrok]\na = 1":                   ":2: unknown key wrok; did you mean work?",
		"title = \"x\"\n[work]\nrecrods = 1":             ":3: unknown key work.recrods; did you mean records?",
		"title = \"x\"\nbudget = \"90\"":                 `:2: "90": want a time above 0, as in 90m`,
		"title = \"x\"\n[gates]\nmemory = \"2\"":         `:3: "2": want a size, as in 500MB or 2GB`,
		"title = \"x\"\n[score]\nsteps = [\"0.5 60 %\"]": `:3: "0.5 60 %": want a ratio to the reference and per cent`,
		rest: ": want a title",
		"title = \"x\"" + strings.Replace(rest, "least_secs = 1", "least_secs = 1.5", 1): ":2: want workload, records, value_size and least_secs, whole seconds",
		"title = \"x\"" + rest: ": want an entry",
		head + "[[entry]]\nname = \"a\"\n" + strings.Replace(rest, `"1x 80%"`, `"0.4x 80%"`, 1):           ":13: 0.4x 80 % is not above the step before it, 0.5x 60 %",
		head + "[[entry]]\nname = \"a\"\n" + rest + "[gradebook]\npoints = 5":                             ":15: want points above 0, and moodle, or canvas with assignment",
		head + "[[entry]]\nname = \"a\"\n" + rest + "[gradebook]\npoints = 5\nmoodle = \"no.csv\"":        "no.csv: no such file",
		head + "[[entry]]\nname = \"a\"\n" + rest:                                                         ":3: want one of checkout, revision, target and pattern; or args alone",
		head + "[[entry]]\nname = \"../a\"\nrevision = \"x\"\n" + rest:                                    `:3: name "../a": want at most 40 letters`,
		head + "[[entry]]\nname = \"a b\"\nrevision = \"x\"\n" + rest:                                     `:3: name "a b": want at most 40 letters`,
		head + "[[entry]]\nrevision = \"--upload-pack=x\"\n" + rest:                                       `:3: "--upload-pack=x": want a git revision`,
		head + "[[entry]]\nrevision = \"x\"\ntarget = \"y\"\n" + rest:                                     `:3: ["x" "y"]: want one of checkout`,
		head + "[[entry]]\nargs = \"--engine slab\"\n" + rest:                                             ":3: want a name",
		head + "[[entry]]\nname = \"a\"\nargs = \"2 2\"\n" + rest:                                         `:3: args "2 2": want flags alone`,
		head + "[[entry]]\nname = \"a\"\nargs = \"--batch '1\"\n" + rest:                                  ":3: unbalanced '",
		head + "[[entry]]\ncheckout = \"none\"\n" + rest:                                                  `:3: checkout "none": no such folder`,
		head + "[[entry]]\ntarget = \"none.toml\"\n" + rest:                                               `:3: target "none.toml": no such file`,
		head + "[[entry]]\npattern = \"none/*\"\n" + rest:                                                 `:3: pattern "none/*": no folder matches`,
		head + "[[entry]]\npattern = \"subs/[\"\n" + rest:                                                 `:3: pattern "subs/[": syntax error in pattern`,
		head + "[[entry]]\npattern = \"subs/*\"\nname = \"a\"\n" + rest:                                   ":3: pattern: its entries have the names of their folders",
		head + "[[entry]]\nname = \"reference\"\nargs = \"--batch 1\"\n" + rest:                           ":3: the name reference is that of the reference too",
		head + "[[entry]]\nrevision = \"v1\"\n[[entry]]\nname = \"V1\"\nrevision = \"v2\"\n" + rest:       ":5: the name V1 is that of v1 too: give one of them another name",
		strings.Replace(head, "]\n", "]\npattern = \"*\"\n", 1) + "[[entry]]\nrevision = \"v1\"\n" + rest: ":2: pattern: the reference is one entry",
	} {
		path := write(t, text)
		_, err := Read(path)
		if err == nil || !strings.HasPrefix(err.Error(), path) || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s\n%v, want one line with %q", text, err, want)
		}
	}
}

// What students name their folders makes safe names, or a clear error.
func TestFolderNames(t *testing.T) {
	path := write(t, "title = \"T\"\n[reference]\nrevision = \"HEAD\"\n[[entry]]\npattern = \"../*/subs/*\"\n[[entry]]\nname = \"smile\"\ncheckout = \"subs/🙂\"\n"+rest,
		"subs/alice:go.mod", "subs/it's \"Bob\" & co:go.mod", "subs/Zoë 🙂 $(id):store.toml", "subs/-rf:go.mod", "subs/...x:go.mod", "subs/🙂:go.mod", "subs/empty", "subs/"+strings.Repeat("long", 20)+":go.mod")
	f, err := Read(path)
	if err != nil {
		t.Fatal(err)
	}
	graded, err := f.Class("", accept)
	if err != nil {
		t.Fatal(err)
	}
	subs := filepath.Join(filepath.Dir(path), "subs")
	for name, want := range map[string]metrics.Entry{
		"reference":                {Kind: metrics.RevisionEntry, Args: "server:HEAD"},
		"smile":                    {Kind: metrics.CheckoutEntry, Args: "'server:" + subs + "/🙂'"},
		"alice":                    {Kind: metrics.CheckoutEntry, Args: "server:" + subs + "/alice"},
		"it-s-Bob-co":              {Kind: metrics.CheckoutEntry, Args: `'server:` + subs + `/it'\''s "Bob" & co'`},
		"Zo-id":                    {Kind: metrics.TargetEntry, Args: `--target '` + subs + `/Zoë 🙂 $(id)/store.toml'`},
		"rf":                       {Kind: metrics.CheckoutEntry},
		"x":                        {Kind: metrics.CheckoutEntry},
		strings.Repeat("long", 10): {Kind: metrics.CheckoutEntry},
		"empty":                    {Kind: metrics.CheckoutEntry, Broken: "the folder has no go.mod of kvlab"},
	} {
		i := slices.IndexFunc(graded.Entries, func(e metrics.Entry) bool { return e.Name == name })
		if i < 0 {
			t.Errorf("no entry %s", name)
			continue
		}
		if e := graded.Entries[i]; e.Kind != want.Kind || !strings.Contains(e.Args, want.Args) || !strings.HasPrefix(e.Broken, want.Broken) || (e.Broken == "") != (want.Broken == "") {
			t.Errorf("%s: %+v, want %+v", name, e, want)
		}
	}
	if len(graded.Entries) != 9 || graded.Entries[0].Name != "reference" || len(Planned(metrics.Sweep{}, graded).Knobs[0].Values) != 8 {
		t.Errorf("entries %+v", graded.Entries)
	}
	for folder, want := range map[string]string{
		"🙂:go.mod":   `:3: "🙂" has no letter or digit for a name: give it one`,
		"a b:go.mod": "the name a-b is that of",
		"link":       `:3: pattern: "subs/link" is a symbolic link: want a folder`,
	} {
		path := write(t, "title = \"T\"\n[reference]\n[[entry]]\npattern = \"subs/*\"\n"+rest, "subs/a-b:go.mod")
		name, _, _ := strings.Cut(folder, ":")
		if at := filepath.Join(filepath.Dir(path), "subs", name); name == "link" {
			err = os.Symlink("/etc", at)
		} else {
			err = os.Mkdir(at, 0o755)
		}
		if err != nil {
			t.Fatal(err)
		}
		if _, err := Read(path); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", folder, err, want)
		}
	}
}

// A submission's files that are links are not followed.
func TestLinkedFiles(t *testing.T) {
	path := write(t, "title = \"T\"\n[reference]\n[[entry]]\npattern = \"subs/*\"\n"+rest, "subs/a", "subs/b", "other:go.mod")
	dir := filepath.Dir(path)
	for link, to := range map[string]string{"a/go.mod": "other/go.mod", "b/store.toml": "class.toml"} {
		if err := os.Symlink(filepath.Join(dir, to), filepath.Join(dir, "subs", link)); err != nil {
			t.Fatal(err)
		}
	}
	f, err := Read(path)
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []string{"the folder has no go.mod of kvlab", "store.toml is no regular file"} {
		if got := f.Entries[i].broken; !strings.HasPrefix(got, want) {
			t.Errorf("%s: %q, want %q", f.Entries[i].Name, got, want)
		}
	}
}

// The shipped example is a class. Flags come in the order in which the later wins.
func TestExample(t *testing.T) {
	f, err := Read("example/class.toml")
	if err != nil {
		t.Fatal(err)
	}
	graded, err := f.Class("slab", accept)
	if err != nil || len(graded.Entries) != 2 || graded.MemoryMB != 2000 || graded.BudgetS != 1800 || len(graded.Score) != 3 {
		t.Fatalf("%+v, %v", graded, err)
	}
	want := "1 1 --batch 512 --workers 16 --warmup 1 --workload=YCSB-B --theta=0.99 --records=100000 --value-size=128 --secs=5 --engine slab"
	if got := graded.Entries[1].Args; got != want {
		t.Errorf("args %q, want %q", got, want)
	}
	if _, err := f.Class("slap", accept); err == nil || !strings.HasSuffix(err.Error(), "has no such entry; did you mean slab?") {
		t.Errorf("--only slap: %v", err)
	}
	_, err = f.Class("", func(args string) error {
		if strings.Contains(args, "mutex") {
			return fmt.Errorf("no %s", "mutex")
		}
		return nil
	})
	if err == nil || !strings.HasPrefix(err.Error(), "example/class.toml:") || !strings.HasSuffix(err.Error(), ": mutex: no mutex") {
		t.Errorf("a wrong flag: %v", err)
	}
}
