// Package kvlab_test holds the layout of the repository: which rooms may not import which,
// and what no program links.
package kvlab_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

const module = "kvlab"

// forbidden lists the arrows that the house does not have: a room that from matches imports
// none that to matches, unless but matches "from > to". Rooms of one extra may import each
// other.
var forbidden = []struct{ from, to, but, why string }{
	{`^(workload|metrics)(/|$)`, `^(kvs|plots|extra|cmd)(/|$)`, ``, "arrows go to data, never from it"},
	{`^metrics(/|$)`, `^workload`, ``, "arrows go to data, never from it"},
	{`^kvs/cluster(/|$)`, `^kvs(/(wire|engine|driver|service|server|client|loadgen)(/.*)?)?$`, ``, "the launcher knows programs, not stores"},
	{`^(kvs|plots|workload|metrics|internal)(/|$)`, `^extra/`, ``, "the core knows no extra"},
	{`^extra/`, `^extra/`, `^extra/rivals/kvs.* > `, "an extra knows no other, but rivals' mains"},
	{``, `^cmd/`, ``, "nobody imports a main"},
	{`^kvs/(route|engine|txn|service|wire|driver|value|history|loadgen)(/|$)`, `^kvs/(server|client|node|verdict|experiment|cluster)(/|$)`, ``, "what is measured does not know what measures it"},
	{`^kvs/(server|client|node)(/|$)`, `^kvs/(verdict|experiment|cluster)(/|$)`, ``, "a node does not know its launcher"},
	{`^kvs/(verdict|experiment)(/|$)`, `^(kvs/(cluster|node|server|client|loadgen|driver|wire|engine)|plots)(/|$)`, ``, "a judge reads records"},
	{`^plots(/|$)`, `^kvs/(cluster|node|server|client|loadgen|driver|wire|engine|service)(/|$)`, ``, "a report reads records"},
	{`^(cmd|extra|kvs|plots|workload|metrics)(/|$)`, `test$|^internal/(fakenode|faults|mutants|faultproxy|docs|peers)(/|$)`, `test(/[a-z]+)* > `, "only tests use it"},
}

// room is a package, by its path below the module.
type room struct {
	path    string
	imports []string // of the module's rooms; a test's are not among them
}

// rooms returns the packages of both modules.
func rooms(t *testing.T) (all []room) {
	t.Helper()
	var out []byte
	for _, folder := range []string{".", "extra/rivals"} { // the modules
		cmd := exec.Command("go", "list", "-C", folder, "-e", "-pgo=off", "-json=ImportPath,Imports", "./...")
		cmd.Env = append(os.Environ(), "GOPROXY=off") // the second's dependencies may be missing
		packages, err := cmd.Output()
		if err != nil {
			t.Fatalf("go list in %s: %v", folder, err)
		}
		out = append(out, packages...)
	}
	for dec := json.NewDecoder(bytes.NewReader(out)); ; {
		var p struct {
			ImportPath string
			Imports    []string
		}
		if err := dec.Decode(&p); errors.Is(err, io.EOF) {
			return all
		} else if err != nil {
			t.Fatalf("read go list's output: %v", err)
		}
		one := room{path: strings.TrimPrefix(p.ImportPath, module+"/")}
		for _, path := range p.Imports {
			if path, ours := strings.CutPrefix(path, module+"/"); ours {
				one.imports = append(one.imports, path)
			}
		}
		all = append(all, one)
	}
}

// extra returns the name of the extra that a room belongs to, or "".
func extra(path string) string {
	rest, _ := strings.CutPrefix(path, "extra/")
	if rest == path {
		return ""
	}
	name, _, _ := strings.Cut(rest, "/")
	return name
}

// TestForbiddenArrows holds the imports of every room against forbidden.
func TestForbiddenArrows(t *testing.T) {
	all := rooms(t)
	for _, rule := range forbidden {
		from, to, but := regexp.MustCompile(rule.from), regexp.MustCompile(rule.to), regexp.MustCompile(rule.but)
		for _, room := range all {
			for _, imported := range room.imports {
				if !from.MatchString(room.path) || !to.MatchString(imported) || rule.but != "" && but.MatchString(room.path+" > "+imported) {
					continue
				}
				if name := extra(room.path); name == "" || name != extra(imported) {
					t.Errorf("%s imports %s: %s", room.path, imported, rule.why)
				}
			}
		}
	}
}

// A package has at most so many files that are no tests, and so many lines of code in them.
const (
	mostFiles = 20
	mostLines = 2500
)

// larger lists the packages that have more lines of code, with what they may have, and why.
var larger = map[string]struct {
	files, lines int
	why          string
}{
	"kvs/cluster": {20, 2800, "the launcher's commands still stand beside its trials"},
	"kvs/loadgen": {20, 2870, "the worker's hot path is one package, so that nothing on it is a call through an interface; a round of transactions is counted as that of batches"},
	"metrics":     {23, 3080, "the declarations of all records, with claims, what is seen of clients, the stages of a load, when a worker ended, transactions, and what was recorded of them"},
}

// TestSizes holds the size of each package, and prints those of the parts of the repository:
// lines of code without blanks and comments, lines of tests, and lines of pages.
func TestSizes(t *testing.T) {
	files, lines, parts, tests, pages := map[string]int{}, map[string]int{}, map[string]int{}, 0, 0
	names, err := exec.Command("git", "ls-files", "*.go", "*.md", "*.txtar").Output()
	if err != nil {
		t.Skip("no git: ", err)
	}
	for _, name := range strings.Fields(string(names)) {
		text, err := os.ReadFile(name)
		if err != nil {
			continue // it is removed, and not yet committed
		}
		all := bytes.Count(text, []byte("\n"))
		switch folder := filepath.Dir(name); {
		case strings.HasSuffix(name, ".md"):
			pages += all
		case strings.HasSuffix(name, "_test.go"), strings.HasSuffix(name, ".txtar"):
			tests += all
		default:
			code := codeLines(string(text))
			files[folder]++
			lines[folder] += code
			parts[partOf(folder)] += code
		}
	}
	for folder, n := range lines {
		f, l := mostFiles, mostLines
		if may, ok := larger[folder]; ok {
			if f, l = may.files, may.lines; files[folder] <= mostFiles && n <= mostLines {
				t.Errorf("%s is no larger than others: remove it from larger", folder)
			}
		}
		if files[folder] > f || n > l {
			t.Errorf("%s has %d files and %d lines of code, want at most %d and %d", folder, files[folder], n, f, l)
		}
	}
	t.Logf("lines of code: core %d, extra with rivals %d, test support %d, all %d", parts["core"], parts["extra"], parts["support"], parts["core"]+parts["extra"]+parts["support"])
	t.Logf("lines of tests %d, of pages %d", tests, pages)
}

// partOf returns the part of the repository that a folder belongs to: extra, what tests
// alone use, or the core.
func partOf(folder string) string {
	switch {
	case strings.HasPrefix(folder, "extra/"):
		return "extra"
	case strings.HasPrefix(folder, "internal/") && folder != "internal/cli" || strings.HasSuffix(folder, "test"):
		return "support"
	}
	return "core"
}

// codeLines counts the lines of a Go file that are neither blank nor a comment alone.
func codeLines(text string) (n int) {
	comment := false // of several lines
	for line := range strings.Lines(text) {
		switch line = strings.TrimSpace(line); {
		case comment:
			comment = !strings.Contains(line, "*/")
		case strings.HasPrefix(line, "/*"):
			comment = !strings.Contains(line, "*/")
		case line != "" && !strings.HasPrefix(line, "//"):
			n++
		}
	}
	return n
}

// TestNoDebugPages: no program of ours has Go's debug pages, which would be
// served to every client as soon as a program listens for HTTP.
func TestNoDebugPages(t *testing.T) {
	out, err := exec.Command("go", "list", "-pgo=off", "-deps", "./...").Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	packages := strings.Fields(string(out))
	if !slices.Contains(packages, "net/rpc") {
		t.Fatal("go list does not list net/rpc, on which the store is built")
	}
	for _, page := range []string{"net/http/pprof", "expvar"} {
		if slices.Contains(packages, page) {
			t.Errorf("%s is linked into a program", page)
		}
	}
}

// goes lists the files that go with an extra: tests of whole programs with it, and extras that
// are built on it. A pattern is filepath.Match's.
var goes = map[string][]string{
	"contain": {"cmd/kvscluster/contain_test.go", "cmd/kvscluster/evening_test.go", "cmd/kvscluster/testdata/script/contain.txtar"}, // an evening's stores are contained
	"grade":   {"cmd/kvscluster/evening_test.go"},
	"profile": {"cmd/kvscluster/testdata/script/profile.txtar"},
	"study":   {"cmd/kvscluster/testdata/script/study.txtar"},
	"system":  {"cmd/kvscluster/testdata/script/system.txtar"},
	"trace":   {"cmd/kvsplot/testdata/script/trace.txtar"},
}

// TestExtrasCanGo deletes each extra, and the lines of the mains that name it, in a copy of
// the repository. The rest builds, with its tests. KVLAB_LONG=1 runs it: each extra takes a
// build.
func TestExtrasCanGo(t *testing.T) {
	if os.Getenv("KVLAB_LONG") != "1" {
		t.Skip("KVLAB_LONG=1 runs it")
	}
	folders, err := filepath.Glob("extra/*")
	if err != nil || len(folders) == 0 {
		t.Fatalf("no extras: %v", err)
	}
	for _, folder := range folders {
		name := filepath.Base(folder)
		t.Run(name, func(t *testing.T) {
			root := filepath.Join(t.TempDir(), "kvlab")
			if out, err := exec.Command("git", "clone", "--quiet", ".", root).CombinedOutput(); err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
			if err := os.RemoveAll(filepath.Join(root, folder)); err != nil {
				t.Fatal(err)
			}
			for _, file := range goes[name] {
				if err := os.Remove(filepath.Join(root, file)); err != nil {
					t.Fatal(err)
				}
			}
			mains, err := filepath.Glob(filepath.Join(root, "cmd/*/*.go"))
			if err != nil || len(mains) == 0 {
				t.Fatalf("no mains: %v", err)
			}
			for _, main := range mains {
				unlist(t, main, "kvlab/extra/"+name)
			}
			vet := exec.Command("go", "vet", "./...")
			vet.Dir = root
			if out, err := vet.CombinedOutput(); err != nil {
				t.Errorf("%v\n%s", err, out)
			}
		})
	}
}

// unlist deletes the lines of a file that import a package, or one below it, and those that
// name it.
func unlist(t *testing.T, file, path string) {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(string(text), "\n")
	var names []string
	isImport := regexp.MustCompile(`^\t"` + path + `(/[a-z/]+)?"$`)
	lines = slices.DeleteFunc(lines, func(line string) bool {
		if !isImport.MatchString(line) {
			return false
		}
		names = append(names, filepath.Base(strings.Trim(line, "\t\"")))
		return true
	})
	lines = slices.DeleteFunc(lines, func(line string) bool {
		return slices.ContainsFunc(names, func(name string) bool { return regexp.MustCompile(`\b` + name + `\.[A-Z]`).MatchString(line) })
	})
	if err := os.WriteFile(file, []byte(strings.Join(lines, "\n")), 0o644); err != nil {
		t.Fatal(err)
	}
}
