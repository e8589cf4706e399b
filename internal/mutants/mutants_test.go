package mutants

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"kvlab/metrics"
	"kvlab/workload/trace"
)

func TestMain(m *testing.M) {
	// A run's length is its window's, also on a machine of few processors.
	flag.Set("test.parallel", "3") // the command line's comes after it
	os.Exit(m.Run())
}

// mutant is a mistake in one program, or in a part that several share.
type mutant struct {
	name   string
	edits  []edit
	args   string // of the launcher, besides those of every run
	client string // arguments of the clients, likewise
	reason string // a regular expression of the verdict's reason
}

// found says whether a verdict is a mutant's, or VALID without one.
func (m mutant) found(verdict metrics.Verdict) bool {
	return verdict.Valid == (m.reason == "") && regexp.MustCompile(m.reason).MatchString(verdict.Reason)
}

// edit replaces the only occurrence of a text in a file. In the new text, planted("name")
// is true in a run of that mutant, so that one build holds all mutants.
type edit struct{ file, old, new string }

// traceFile is a trace of 200,000 reads and writes of 1000 keys in the checkout of the mutants.
const traceFile = "t.kvt"

func writeTrace(t *testing.T, path string) {
	t.Helper()
	b, err := trace.Create(path, "test", 1e6)
	for i := range 200_000 {
		in := trace.Input{Name: "op", Command: trace.Get, Key: fmt.Appendf(nil, "key%d", i/3*7%1000), Size: 100, Times: 1, Tick: uint32(i / 100)}
		if i%3 == 1 {
			in.Command, in.Size = trace.Set, 100+i%50
		}
		if err == nil {
			err = b.Add(in)
		}
	}
	if err == nil {
		_, err = b.Close("")
	}
	if err != nil {
		t.Fatal(err)
	}
}

// variable names the mutant of a run.
const variable = "KVLAB_MUTANT"

// switchFile is added to each package that an edit changes.
const switchFile = `package %s

import "os"

var plantedMutant = os.Getenv("` + variable + `")

func planted(name string) bool { return plantedMutant == name }
`

// edited returns the texts of the files that the mutants change, with all changes, by path.
func edited(t *testing.T, all []mutant) map[string]string {
	t.Helper()
	checkout, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	texts := make(map[string]string)
	for _, m := range all {
		for _, e := range m.edits {
			path := filepath.Join(checkout, e.file)
			if texts[path] == "" {
				text, err := os.ReadFile(path)
				if err != nil {
					t.Fatal(err)
				}
				texts[path] = string(text)
			}
			if n := strings.Count(texts[path], e.old); n != 1 {
				t.Fatalf("mutant %q: %s has its anchor %d times, want once:\n%s", m.name, e.file, n, e.old)
			}
			texts[path] = strings.Replace(texts[path], e.old, e.new, 1)
		}
	}
	return texts
}

// Every mistake has its place in the source as it is.
func TestAnchors(t *testing.T) { edited(t, mutants) }

// mutate builds the programs with all mutants into the bin folder of an empty checkout.
func mutate(t *testing.T, all []mutant) (root string) {
	t.Helper()
	texts := edited(t, all)
	root = t.TempDir()
	writeTrace(t, filepath.Join(root, traceFile))
	overlay := filepath.Join(root, "overlay.json")
	writeOverlay(t, overlay, texts)
	cmd := exec.Command("go", "build", "-buildvcs=false", "-pgo=off", "-ldflags=-w", "-overlay", overlay, "-o", filepath.Join(root, "bin")+"/",
		"kvlab/cmd/kvscluster", "kvlab/cmd/kvsserver", "kvlab/cmd/kvsclient")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
	return root
}

var packageClause = regexp.MustCompile(`(?m)^package (\w+)`)

// writeOverlay writes the file that go build -overlay reads, and the changed files beside
// it.
func writeOverlay(t *testing.T, overlay string, texts map[string]string) {
	t.Helper()
	replace := make(map[string]string)
	add := func(path, text string) {
		copied := fmt.Sprintf("%s.%d.go", overlay, len(replace))
		if err := os.WriteFile(copied, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		replace[path] = copied
	}
	for path, text := range texts {
		add(path, text)
		if planted := filepath.Join(filepath.Dir(path), "planted.go"); replace[planted] == "" {
			add(planted, fmt.Sprintf(switchFile, packageClause.FindStringSubmatch(text)[1]))
		}
	}
	text, err := json.Marshal(map[string]any{"Replace": replace})
	if err == nil {
		err = os.WriteFile(overlay, text, 0o644)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// verdictOf runs a mutant on this machine, with a window of some seconds, and returns the
// run's verdict.
func verdictOf(t *testing.T, root string, m mutant, seed int) metrics.Verdict {
	t.Helper()
	out := t.TempDir()
	m.client = strings.ReplaceAll(m.client, "{trace}", filepath.Join(root, traceFile))
	args := append([]string{"--local", "--no-ceiling", "--out", out,
		"--client-args", fmt.Sprintf("-records 100000 -warmup 0.5 -secs 3 -workers 16 -batch 512 -seed %d %s", seed, m.client)}, strings.Fields(m.args)...)
	cmd := exec.Command(filepath.Join(root, "bin", "kvscluster"), args...)
	cmd.Env = append(os.Environ(), variable+"="+m.name)
	said, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	if i := bytes.LastIndex(said, []byte("\nINVALID: ")); i >= 0 && bytes.Count(said[i+1:], []byte("\n")) > 6 {
		t.Errorf("more than six lines say why it is INVALID:\n%s", said[i+1:])
	}
	text, err := os.ReadFile(filepath.Join(out, "latest", "run.json"))
	var run metrics.Run
	if err == nil {
		err = json.Unmarshal(text, &run)
	}
	if err != nil {
		t.Fatalf("%v\n%s", err, said)
	}
	return run.Verdict
}

// TestMutants runs every third mutant once with KVLAB_CI=1, which takes some minutes, and all
// with ten seeds with KVLAB_LONG=1, which takes more than an hour: kvs/verdict's tests find
// each mistake in the records. The programs without a mutant run as often.
func TestMutants(t *testing.T) {
	seeds := 1
	if os.Getenv("KVLAB_LONG") == "1" {
		seeds = 10
	} else if os.Getenv("KVLAB_CI") != "1" {
		t.Skip("KVLAB_CI=1 runs it")
	}
	root := mutate(t, mutants)
	chosen := []mutant{{name: "none"}, {name: "none, open loop", client: "-rate 20k"}}
	for i, m := range mutants {
		if i%3 == 0 || seeds > 1 {
			chosen = append(chosen, m)
		}
	}
	for seed := 1; seed <= seeds; seed++ {
		for _, m := range chosen {
			t.Run(fmt.Sprintf("%s, seed %d", m.name, seed), func(t *testing.T) {
				t.Parallel()
				verdict := verdictOf(t, root, m, seed)
				if !m.found(verdict) {
					t.Errorf("%s, want a reason that matches %q, and VALID without a mutant", verdict, m.reason)
				}
			})
		}
	}
}
