package docs_test

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"kvlab/internal/labtest"
)

// pages returns README.md and the pages in docs.
func pages(tb testing.TB) []string {
	tb.Helper()
	docs, err := filepath.Glob("docs/*.md")
	if err != nil || len(docs) == 0 {
		tb.Fatalf("docs has no pages: %v", err)
	}
	return append([]string{"README.md"}, docs...)
}

// readmeCommands returns the lines of the ```sh blocks of README.md and of the pages in
// docs, each once, without comments.
func readmeCommands(t *testing.T) []string {
	t.Helper()
	var commands []string
	for _, page := range pages(t) {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		parts := strings.Split(string(text), "```")
		for i := 1; i < len(parts); i += 2 {
			block, isShell := strings.CutPrefix(parts[i], "sh\n")
			if !isShell {
				continue
			}
			for line := range strings.Lines(block) {
				line, _, _ = strings.Cut(line, " #")
				if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "#") && !slices.Contains(commands, line) {
					commands = append(commands, line)
				}
			}
		}
	}
	if len(commands) < 8 {
		t.Fatalf("README.md and docs show only %d commands: %q", len(commands), commands)
	}
	return commands
}

// TestReadmeLinks: every link to a file leads to one, every Go file or package that a
// page names exists, and README.md stays short.
func TestReadmeLinks(t *testing.T) {
	link := regexp.MustCompile(`\]\(([^):#]+)\)`)
	code := regexp.MustCompile("`((?:cmd|extra|internal|kvs|metrics|plots|workload)/[a-z/]+(?:\\.go)?)`")
	for _, page := range append(pages(t), "CONTRIBUTING.md") {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		for _, match := range link.FindAllSubmatch(text, -1) {
			if _, err := os.Stat(filepath.Join(filepath.Dir(page), string(match[1]))); err != nil {
				t.Errorf("%s: %v", page, err)
			}
		}
		for _, match := range code.FindAllSubmatch(text, -1) {
			if _, err := os.Stat(string(match[1])); err != nil {
				t.Errorf("%s: %v", page, err)
			}
		}
		if lines := bytes.Count(text, []byte("\n")); page == "README.md" && lines > 150 {
			t.Errorf("README.md has %d lines, 150 at most: the rest belongs to docs", lines)
		}
	}
}

// TestReadmeCommands has the programs parse and plan every command that README.md and
// docs show. Nothing is measured; TestReadmeCommandsRun runs the commands.
func TestReadmeCommands(t *testing.T) {
	dir := planFolder(t)
	t.Setenv("GOFLAGS", os.Getenv("GOFLAGS")+" -ldflags=-w") // a course server is linked twice as fast
	for _, command := range readmeCommands(t) {
		t.Run(command, func(t *testing.T) {
			if strings.HasPrefix(command, "go test ") {
				checkBenchmark(t, command)
				return
			}
			line, want := planned(command)
			c := exec.Command("bash", "-c", line)
			c.Dir = dir // --reap looks for processes of its bin
			if out, err := c.CombinedOutput(); (err == nil) != (want == "") || !bytes.Contains(out, []byte(want)) {
				t.Errorf("%s: %v\n%s", line, err, out)
			}
		})
	}
}

var nodeName = regexp.MustCompile(`\bnode([0-9])\b`)

// planned returns the line that plans a command, and the error that is expected of it; ""
// for none.
func planned(command string) (line, want string) {
	line = strings.TrimPrefix(command, "sudo ")
	switch {
	case strings.HasPrefix(line, "cp docs/"), strings.HasPrefix(line, "printf "), strings.HasPrefix(line, "awk "):
		return line, ""
	case strings.Contains(line, "--labels "): // that folder is one system
		return line, "figures of one system have none"
	case strings.HasPrefix(line, "bin/kvsplot verify "): // that folder has no records
		return line, "1 folder not as recorded"
	case strings.HasPrefix(line, "bin/kvsplot serve"):
		return served(line), ""
	case strings.HasPrefix(line, "bin/kvsplot pack "): // nor a commit
		return line, "has no git commit"
	case strings.HasPrefix(line, "bin/kvsplot "): // the folder of planFolder is small
		return line, ""
	case strings.HasPrefix(line, "bin/kvscluster -contain "): // it tries the walls
		return "set -n\n" + line, ""
	case strings.HasPrefix(line, "bin/"):
		program, args, _ := strings.Cut(line, " ")
		return program + " -settings " + args, ""
	case !strings.HasPrefix(line, "./run-cluster.sh"):
		return "set -n\n" + line, "" // only the syntax
	case strings.Contains(line, "--study all"), strings.HasPrefix(line, "./run-cluster.sh grade class.toml"):
		return "set -n\n" + line, "" // these build much to plan; TestReadmeCommandsRun has them do it
	case strings.Contains(line, "--resume "):
		return line, "no sweep was begun there"
	case strings.HasPrefix(line, "./run-cluster.sh grade logs/"):
		return line, "open logs/lab2: no such file"
	case strings.HasPrefix(line, "./run-cluster.sh rerun "):
		return line, "it has no command"
	case strings.Contains(line, "--check"), strings.Contains(line, "--preflight"), strings.Contains(line, "--tune show"), strings.Contains(line, "--reap"):
		return line, "" // these start no node
	}
	// A node's name must resolve, which an address does; a commit would be built.
	line = nodeName.ReplaceAllString(line, "10.10.1.1$1")
	return strings.NewReplacer("commit:HEAD~1", `""`, "server:HEAD~1", `""`).Replace(line) + " --dry-run", ""
}

// served returns a command of kvsplot serve that ends as by Ctrl-C once it serves.
func served(command string) string {
	return command + " -addr 127.0.0.1:0 >served & until grep -qs http served; do kill -0 $! || exit 1; sleep 0.05; done; kill $!; wait $!"
}

// checkBenchmark fails unless the package of a go test command has the benchmark that
// the command names.
func checkBenchmark(t *testing.T, command string) {
	t.Helper()
	words := strings.Fields(command)
	dir := words[len(words)-1]
	_, pattern, isBenchmark := strings.Cut(command, "-bench ")
	if !isBenchmark {
		if _, err := os.Stat(strings.TrimSuffix(dir, "/...")); err != nil {
			t.Error(err)
		}
		return
	}
	name := regexp.MustCompile(`(?m)^func Benchmark\w*` + strings.Fields(pattern)[0])
	files, _ := filepath.Glob(filepath.Join(dir, "*_test.go"))
	for _, file := range files {
		if text, err := os.ReadFile(file); err == nil && name.Match(text) {
			return
		}
	}
	t.Errorf("%s has no benchmark %s", dir, name)
}

// planFolder returns a checkout with the programs, a launcher that does not build them, and
// one small run.
func planFolder(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	bin := filepath.Join(dir, "bin")
	if err := os.Mkdir(bin, 0o755); err != nil {
		t.Fatal(err)
	}
	for _, program := range []string{"./cmd/kvscluster", "./cmd/kvsserver", "./cmd/kvsclient", "./cmd/kvsplot"} {
		linked(t, program, filepath.Join(bin, filepath.Base(program)))
	}
	here, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	labServer(t, dir)
	writeStudy(t, dir)
	writeClass(t, dir)
	run := filepath.Join(dir, "logs", "2026-11-21_15-30-00")
	const record = `{"schema":2,"id":"2026-11-21_15-30-00","nodes":[{"name":"node0","role":"server"},{"name":"node1","role":"client"}],"ops_per_s":1e6,"window_s":5,"verdict":{"valid":true}}`
	for _, err := range []error{
		os.MkdirAll(run, 0o755),
		os.WriteFile(filepath.Join(run, "run.json"), []byte(record), 0o644),
		os.Symlink(filepath.Base(run), filepath.Join(dir, "logs", "latest")),
		os.Symlink(filepath.Join(here, "docs"), filepath.Join(dir, "docs")),
		os.Symlink(filepath.Join(here, "plots"), filepath.Join(dir, "plots")),
		os.Symlink(filepath.Join(here, "kvs"), filepath.Join(dir, "kvs")),
		os.Symlink(filepath.Join(here, "extra"), filepath.Join(dir, "extra")),
		os.WriteFile(filepath.Join(dir, "run-cluster.sh"), []byte("#!/bin/sh\nexec bin/kvscluster \"$@\"\n"), 0o755),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// linked makes the file of a program. go run keeps it in the build cache, as go build does not:
// most of the time of a build would go into linking.
func linked(t *testing.T, program, file string) {
	t.Helper()
	run := exec.Command("go", "run", "-exec", "cp", "-buildvcs=false", "-pgo=off", "-ldflags=-w", program, file)
	if out, err := run.CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", program, err, out)
	}
}

// shown returns the first TOML file that a page shows.
func shown(t *testing.T, page string) []byte {
	t.Helper()
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := bytes.Cut(text, []byte("```toml\n"))
	file, _, found := bytes.Cut(rest, []byte("```"))
	if !found {
		t.Fatalf("%s shows no TOML file", page)
	}
	return file
}

// writeStudy gives a folder the study that docs/experiments.md shows.
func writeStudy(t *testing.T, dir string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(dir, "mine.toml"), shown(t, "docs/experiments.md"), 0o644); err != nil {
		t.Fatal(err)
	}
}

// writeClass gives a folder the class that docs/grading.md shows, with a submission of each
// kind: a course server, one that is nothing, and one that came late.
func writeClass(t *testing.T, dir string) {
	t.Helper()
	files := map[string][]byte{
		"class.toml": shown(t, "docs/grading.md"), "subs/alice/notes.txt": nil,
		"export.csv": []byte("Student,ID,SIS User ID,SIS Login ID,Section,KV lab 2 (1234)\n"), "worksheet.csv": []byte("Identifier,Grade\n"),
	}
	for _, team := range []string{"handout", "subs/bob", "late/team-7"} {
		files[team+"/go.mod"], files[team+"/server/main.go"] = []byte("module team\n"), []byte(labtest.Source)
	}
	for name, text := range files {
		file := filepath.Join(dir, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o755), os.WriteFile(file, text, 0o644)); err != nil {
			t.Fatal(err)
		}
	}
}

// labServer puts the server of a stranger, which docs/store.toml builds, beside a folder. The
// page shows that file.
func labServer(t *testing.T, dir string) {
	t.Helper()
	if file, err := os.ReadFile("docs/store.toml"); err != nil || !bytes.Equal(file, shown(t, "docs/targets.md")) {
		t.Errorf("docs/targets.md does not show docs/store.toml: %v", err)
	}
	if file, err := os.ReadFile("docs/client.toml"); err != nil || !bytes.Equal(file, shown(t, "docs/course.md")) {
		t.Errorf("docs/course.md does not show docs/client.toml: %v", err)
	}
	team := filepath.Join(filepath.Dir(dir), "team-7")
	for _, err := range []error{
		os.MkdirAll(filepath.Join(team, "kvs", "client"), 0o755),
		os.WriteFile(filepath.Join(team, "kvs", "client", "main.go"), []byte(labtest.ClientSource), 0o644),
		os.MkdirAll(filepath.Join(team, "kvs", "server"), 0o755),
		os.WriteFile(filepath.Join(team, "go.mod"), []byte("module team\n"), 0o644),
		os.WriteFile(filepath.Join(team, "kvs", "server", "main.go"), []byte(labtest.Source), 0o644),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
}
