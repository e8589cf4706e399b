package grade

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"kvlab/extra/grade/evening"
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

// submitted is a store.toml as students write one.
const submitted = "driver = \"lab\"\nbuild = \"go build -o {bin} .\"\nrun = \"{bin} -port {port}\"\n"

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
			text := map[bool]string{true: submitted, false: "module kvlab\n"}[file == storeFile]
			if err := os.WriteFile(filepath.Join(dir, name, file), []byte(text), 0o644); err != nil {
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

// read reads a file, and finds its folders.
func read(path string) (*File, error) {
	f, err := Read(path)
	if err == nil {
		err = f.settle()
	}
	return f, err
}

// With a folder, that is checked in place of the entries, which need not be there.
func TestCheckOne(t *testing.T) {
	path := write(t, "title = \"T\"\n[reference]\n[[entry]]\npattern = \"subs/*\"\n"+rest, "mine:store.toml", "half")
	for folder, broken := range map[string]bool{"mine": false, "half": true} {
		f, err := Read(path)
		if err != nil {
			t.Fatal(err)
		}
		graded, err := f.Class("", filepath.Join(filepath.Dir(path), folder), accept)
		if err != nil || len(graded.Entries) != 2 || graded.Entries[1].Name != folder || (graded.Entries[1].Broken != "") != broken || !slices.Equal(graded.Looks, []int{1}) {
			t.Errorf("%s: %+v, %v", folder, graded, err)
		}
	}
	f, _ := Read(path)
	if _, err := f.Class("", "/none/here", accept); err == nil || err.Error() != path+`: checkout "/none/here": no such folder` {
		t.Error(err)
	}
}

// One mistake does not hide the others.
func TestAllMistakes(t *testing.T) {
	_, err := read(write(t, "title = \"T\"\n[reference]\n[[entry]]\npattern = \"subs/*\"\n[[entry]]\ncheckout = \"none\"\n"+rest, "subs/🙂", "subs/☃", "subs/a b", "subs/a-b"))
	if err == nil || strings.Count(err.Error(), "\n") != 3 {
		t.Errorf("%v, want four lines", err)
	}
}

// A mistake is an error that names the line, and the right form.
func TestFileErrors(t *testing.T) {
	const head = "title = \"T\"\n[reference]\n" // entries begin in line 3
	for text, want := range map[string]string{
		"titel = \"x\"":                                   ":1: unknown key titel; did you mean title?",
		"title = \"x\"\n[wrok]\na = 1":                    ":2: unknown key wrok; did you mean work?",
		"title = \"x\"\n[work]\nrecrods = 1":              ":3: unknown key work.recrods; did you mean records?",
		"title = \"x\"\nbudget = \"90\"":                  `:2: budget: "90": want a time above 0, as in 90m`,
		"title = \"x\"\n[gates]\nmemory = \"2\"":          `:3: gates.memory: "2": want a size, as in 500MB or 2GB`,
		"title = \"x\"\n[score]\nsteps = [\"0.5y 60 %\"]": `:3: score.steps: "0.5y 60 %": want operations per second, or a ratio to a reference, and per cent`,
		rest: ": want a title",
		"title = \"x\"" + strings.Replace(rest, "least_secs = 1", "least_secs = 1.5", 1): ":2: want workload, records, value_size and least_secs, whole seconds",
		"title = \"x\"" + rest: ": want an entry",
		head + "[[entry]]\nname = \"a\"\n" + strings.Replace(rest, `"1x 80%"`, `"1M 80%"`, 1):             ":13: 1M 80 %: want steps of one kind, as in steps = [\"0.5x 60 %\"",
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
		_, err := read(path)
		if err == nil || !strings.HasPrefix(err.Error(), path) || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s\n%v, want one line with %q", text, err, want)
		}
	}
}

// What students name their folders makes safe names, or a clear error.
func TestFolderNames(t *testing.T) {
	path := write(t, "title = \"T\"\n[reference]\nrevision = \"HEAD\"\n[[entry]]\npattern = \"../*/subs/*\"\n[[entry]]\nname = \"smile\"\ncheckout = \"subs/🙂\"\n"+rest,
		"subs/alice:go.mod", "subs/it's \"Bob\" & co:go.mod", "subs/Zoë 🙂 $(id):store.toml", "subs/-rf:go.mod", "subs/...x:go.mod", "subs/🙂:go.mod", "subs/empty", "subs/"+strings.Repeat("long", 20)+":go.mod")
	f, err := read(path)
	if err != nil {
		t.Fatal(err)
	}
	graded, err := f.Class("", "", accept)
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
	if len(graded.Entries) != 9 || graded.Entries[0].Name != "reference" || len(evening.Planned(metrics.Sweep{}, graded).Knobs[0].Values) != 8 {
		t.Errorf("entries %+v", graded.Entries)
	}
	for folder, want := range map[string]string{
		"🙂:go.mod":   `:3: "🙂" has no letter or digit for a name: give it one`,
		"a b:go.mod": "the name a-b is that of",
	} {
		path := write(t, "title = \"T\"\n[reference]\n[[entry]]\npattern = \"subs/*\"\n"+rest, "subs/a-b:go.mod")
		name, _, _ := strings.Cut(folder, ":")
		if err := os.Mkdir(filepath.Join(filepath.Dir(path), "subs", name), 0o755); err != nil {
			t.Fatal(err)
		}
		if _, err := read(path); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", folder, err, want)
		}
	}
}

// A submission that is no folder, or whose files are links or name what is not its own, is
// broken, with the reason. The others are measured.
func TestSubmissions(t *testing.T) {
	path := write(t, "title = \"T\"\ndrivers = [\"lab\", \"memcached\"]\n[reference]\n[[entry]]\npattern = \"subs/*\"\n"+rest, "subs/neighbour:go.mod", "other:go.mod", "subs/README")
	dir := filepath.Dir(path)
	subs := filepath.Join(dir, "subs")
	for name, text := range map[string]string{
		"fine":      submitted + "dir = \"src\"\n",
		"memcached": strings.Replace(submitted, "lab", "memcached", 1),
		"redis":     strings.Replace(submitted, "lab", "redis", 1),
		"up":        submitted + "dir = \"../neighbour\"\n",
		"etc":       submitted + "dir = \"/etc\"\n",
		"linked":    submitted + "dir = \"src/link\"\n",
		"far":       "driver = \"lab\"\nservers = [\"10.0.0.9:80\"]\n",
		"system":    "driver = \"lab\"\nrun = \"/usr/bin/env {port}\"\n",
		"ca":        submitted + "settings = { ca = \"/etc/shadow\" }\n",
		"typo":      "drivr = \"lab\"\n",
	} {
		src := filepath.Join(subs, name, "src")
		for _, err := range []error{os.MkdirAll(src, 0o755), os.Symlink(filepath.Join(subs, "neighbour"), filepath.Join(src, "link")),
			os.WriteFile(filepath.Join(subs, name, storeFile), []byte(text), 0o644), os.WriteFile(filepath.Join(subs, name, moduleFile), []byte("module team\n"), 0o644)} {
			if err != nil {
				t.Fatal(err)
			}
		}
	}
	for link, to := range map[string]string{"module/go.mod": "other/go.mod", "store/store.toml": "class.toml", "folder": "other", "late.zip": "class.toml"} {
		os.Mkdir(filepath.Dir(filepath.Join(subs, link)), 0o755)
		if err := os.Symlink(filepath.Join(dir, to), filepath.Join(subs, link)); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(subs, "bob.ZIP"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	f, err := read(path)
	if err != nil {
		t.Fatal(err)
	}
	got := make(map[string]string)
	for _, e := range f.Entries {
		got[e.Name] = e.broken
	}
	for name, want := range map[string]string{
		"neighbour": "", "fine": "", "memcached": "",
		"redis":    `store.toml: driver "redis": this class takes ["lab" "memcached"]`,
		"up":       `store.toml: dir "../neighbour" leads out of the entry's folder: want one below it`,
		"etc":      `store.toml: dir "/etc": want a folder below the entry's own`,
		"linked":   `store.toml: dir "src/link" leads out of the entry's folder: want one below it`,
		"far":      "store.toml: servers: want build and run: a store that runs already is not what was handed in",
		"system":   "store.toml: want build, the command that makes {bin} from what was handed in",
		"ca":       "store.toml: settings.ca: want no file of the machine that measures",
		"typo":     "store.toml:1: unknown key drivr; did you mean driver?",
		"module":   "the folder has no go.mod of kvlab, as a checkout has, and no store.toml; a table [target] in the class file says how other folders are built",
		"store":    "store.toml is no regular file",
		"folder":   "it is a symbolic link, and no folder",
		"late.zip": "it is a symbolic link, and no folder",
		"bob.ZIP":  "it is a packed file, and no folder: unpack it",
		"README":   "the folder has no go.mod of kvlab, as a checkout has, and no store.toml; a table [target] in the class file says how other folders are built",
	} {
		if said, ok := got[name]; !ok || said != want {
			t.Errorf("%s: %t, %q, want %q", name, ok, said, want)
		}
	}
}

// With [target] each folder is built and started as the class file says, whatever its own
// files say. Its hash follows what is in it.
func TestTemplate(t *testing.T) {
	const template = "[target]\ndriver = \"lab\"\npreset = \"base\"\ndir = \"src\"\nbuild = \"go build -o {bin} ./server\"\nrun = \"{bin} -port {port}\"\n"
	text := "title = \"T\"\n[reference]\ncheckout = \"handout\"\n[[entry]]\npattern = \"subs/*\"\n" + rest
	path := write(t, text+template, "handout/src", "subs/alice/src", "subs/alice:store.toml", "subs/bob/src", "subs/bob:go.mod", "subs/none")
	sources := make(map[string]string)
	for _, change := range []bool{false, true} {
		if change {
			if err := os.WriteFile(filepath.Join(filepath.Dir(path), "subs", "bob", "src", "x.go"), nil, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		f, err := read(path)
		if err != nil {
			t.Fatal(err)
		}
		graded, err := f.Class("", "", accept)
		if err != nil || len(graded.Entries) != 4 {
			t.Fatalf("%+v, %v", graded, err)
		}
		for _, e := range graded.Entries {
			if want := map[bool]string{true: `dir "src": no such folder`}[e.Name == "none"]; e.Broken != want {
				t.Errorf("%s: %q, want %q", e.Name, e.Broken, want)
			}
			if e.Broken == "" && (e.Kind != metrics.TargetEntry || !strings.Contains(e.Args, `--target '{"name":"lab","driver":"lab","settings":{"preset":"base"}`) || !strings.Contains(e.Args, e.From+`/src"`)) {
				t.Errorf("%+v", e)
			}
			if before := sources[e.Name]; change && (before != e.Source) != (e.Name == "bob") {
				t.Errorf("the hash of %s: %s, then %s", e.Name, before, e.Source)
			}
			sources[e.Name] = e.Source
		}
	}
	for _, wrong := range []struct{ old, new, want string }{
		{`"{bin} -port {port}"`, `"redis-server --port {port}"`, ":16: build: want {bin}"},
		{"build =", "biuld =", "unknown key target.biuld; did you mean build?"},
		{`build = "go build -o {bin} ./server"` + "\n" + `run = "{bin} -port {port}"`, `servers = ["a:1"]`, ":16: want build and run"},
	} {
		if _, err := read(write(t, text+strings.Replace(template, wrong.old, wrong.new, 1), "handout/src", "subs/alice/src")); err == nil || !strings.Contains(err.Error(), wrong.want) {
			t.Errorf("%s: %v, want %q", wrong.new, err, wrong.want)
		}
	}
}

// The shipped example is a class. Flags come in the order in which the later wins.
func TestExample(t *testing.T) {
	f, err := read("example/class.toml")
	if err != nil {
		t.Fatal(err)
	}
	graded, err := f.Class("slab", "", accept)
	if err != nil || len(graded.Entries) != 2 || graded.MemoryMB != 2000 || graded.BudgetS != 1800 || len(graded.Score) != 3 {
		t.Fatalf("%+v, %v", graded, err)
	}
	want := "1 1 --batch 512 --workers 16 --warmup 1 --workload=YCSB-B --theta=0.99 --records=100000 --value-size=128 --secs=5 --engine slab"
	if got := graded.Entries[1].Args; got != want {
		t.Errorf("args %q, want %q", got, want)
	}
	if _, err := f.Class("slap", "", accept); err == nil || !strings.HasSuffix(err.Error(), "has no such entry; did you mean slab?") {
		t.Errorf("--only slap: %v", err)
	}
	_, err = f.Class("", "", func(args string) error {
		if strings.Contains(args, "mutex") {
			return fmt.Errorf("no %s", "mutex")
		}
		return nil
	})
	if err == nil || !strings.HasPrefix(err.Error(), "example/class.toml:") || !strings.HasSuffix(err.Error(), ": mutex: no mutex") {
		t.Errorf("a wrong flag: %v", err)
	}
}

// A class says how precise its grades are in per cent, or in the points that they must tell.
func TestPrecision(t *testing.T) {
	book := write(t, "")
	for text, want := range map[string]float64{"": 2.5, "precision = 4": 4, "precision = 1.5": 1.5, `precision = "5 points"`: 2.5, `precision = "5 points"#`: 5,
		`precision = "5"`: 0, `precision = "points"`: 0, "precision = 0": 0, "precision = true": 0, `precision = "-1 points"`: 0} {
		line, _, filled := strings.Cut(text, "#")
		all := "title = \"T\"\n[reference]\n[[entry]]\nname = \"a\"\nrevision = \"x\"\n" + rest + line
		if filled {
			all += "\n[gradebook]\nmoodle = \"" + book + "\"\npoints = 50"
		}
		f, err := Read(write(t, all))
		if (err == nil) != (want > 0) || err != nil && !strings.Contains(err.Error(), `: precision`) || err == nil && f.precision() != want {
			t.Errorf("%s: %+v, %v, want %v", text, f, err, want)
		}
	}
}
