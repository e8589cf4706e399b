package docs_test

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"kvlab/internal/redistest"
)

// busy holds, by flag, what a run rightly says on a machine that gets busy on the way: the
// windows of two trials opened apart; or one point of a curve, and no other, fell behind
// before its window and caught up in it.
var busy = map[string]*regexp.Regexp{
	"--together": regexp.MustCompile(`\nverdict INVALID\(.*the windows of the two trials have only .*\)\n$`),
	"--curve":    regexp.MustCompile(`\nverdict INVALID\(1 of \d+ trials failed, first trial \d+ rate=\d+%: BACKLOG: .*\)\n$`),
}

// elsewhere holds words of commands whose kind another test or another command of the pages
// runs, and which one. TestReadmeCommands plans these commands.
var elsewhere = []struct{ words, by string }{
	{"git clone", "a fresh clone"},
	{"cd kvlab", "a fresh clone"},
	{"go test ./...", "the first step of CI"},
	{"--selftest", "TestScripts of cmd/kvscluster"},
	{"bin/kvsplot pack", "TestArtifact"},
	{"rerun", "TestArtifact"},
	{"bin/kvsserver -resp", "TestTools of extra/door"},
	{"bin/kvsserver -lab", "TestProgram of extra/labserver"},
	{"redis-", "TestTools of extra/door"},
	{"--client ", "TestScripts of cmd/kvscluster"},
	{"--system ", "TestScripts of cmd/kvscluster"},
	{"--contain memory", "TestScripts of cmd/kvscluster"},
	{"--target redis", "TestScripts of cmd/kvscluster"},
	{"--target memcached", "TestScripts of cmd/kvscluster"},
	{"--sweep target=", "TestScripts of cmd/kvscluster"},
	{"--sweep batch=", "TestScripts of cmd/kvscluster"},
	{"--resume", "TestScripts of cmd/kvscluster"},
	{"--virtual 4", "the sweep over nodes of a virtual lab"},
	{"--nodes", "the virtual labs: there is no cluster here"},
	{`"" "--engine slab"`, "the comparison of commits"},
	{`"" "--batch 1024"`, "the comparison of commits"},
	{`"" "--crc"`, "the comparison of --tls"},
	{`"" "--cache all"`, "BenchmarkOnLink"},
	{`server:HEAD~1 "" --secs 5`, "the same with --trials"},
	{`commit:HEAD~1 "" --secs 3`, "the same with --secs 5"},
	{"--trials 6 --client-args", "the run that is named main"},
	{"--rate 50k", "the run with --rate 30%"},
	{"--slo", "TestSearchSLO of kvs/cluster: a search takes long"},
	{"--study mine", "TestScripts of cmd/kvscluster"},
	{"--study seed-batch", "TestScripts of cmd/kvscluster"},
	{"grade logs/", "TestClassFolder of extra/grade"},
	{"grade kvs/experiment", "TestClassEvening of cmd/kvscluster"},
	{"--model pool", "TestFaults of internal/faults, with every model"},
}

// TestReadmeCommandsRun runs the commands that README.md and docs show, in their order, in a
// copy of the repository: one of each kind; see elsewhere. The builds share one cache, and
// each line runs once. Runs are short; see shorten. No ceiling is measured but by the plain
// run.
func TestReadmeCommandsRun(t *testing.T) {
	if os.Getenv("KVLAB_CI") != "1" {
		t.Skip("KVLAB_CI=1 runs it")
	}
	redistest.Need(t, "redis-server", "redis-benchmark", "redis-cli", "memcached", "ip", "tc", "ssh", "/usr/sbin/sshd")
	dir := copyTree(t)
	labServer(t, dir)
	writeStudy(t, dir)
	writeClass(t, dir)
	smallGrades(t, dir)
	commitTwice(t, dir)
	ran := make(map[string]bool)
	for _, command := range readmeCommands(t) {
		t.Run(command, func(t *testing.T) {
			for _, e := range elsewhere {
				if strings.Contains(command+"$", e.words) {
					t.Skip(e.by + " runs its kind")
				}
			}
			line := shorten(command)
			if ran[line] {
				t.Skip("it has run")
			}
			ran[line] = true
			checkRun(t, dir, command, line)
		})
	}
	t.Run("sections", func(t *testing.T) { checkSections(t, dir) })
}

// checkRun runs a command's line in a folder. It must end with its verdict, if it measures:
// VALID, or what a busy machine gets.
func checkRun(t *testing.T, dir, command, line string) {
	t.Helper()
	c := exec.Command("bash", "-c", line)
	c.Dir = dir
	out, err := c.CombinedOutput()
	for flag, verdict := range busy {
		if strings.Contains(line, flag) && verdict.Match(out) {
			t.Logf("the machine is busy: %s", out[bytes.LastIndex(out, []byte("verdict ")):])
			return
		}
	}
	if err != nil {
		t.Fatalf("%s: %v\n%s", line, err, out)
	}
	if said := regexp.MustCompile(`(?s)\n(limit    .*x\s+as\s+fast\s+without\s+a\s+store|but .*NO\s+CEILING)`); command == "./run-cluster.sh" && !said.Match(out) {
		t.Errorf("%s does not say how good it could be, or what limits it:\n%s", line, out)
	}
	if measures.MatchString(line) && !bytes.HasSuffix(out, []byte("verdict VALID\n")) {
		t.Fatalf("%s does not end with its verdict:\n%s", line, out)
	}
}

// measures matches the lines that make a run: shorten says how much they store.
var measures = regexp.MustCompile(`^\./run-cluster\.sh .*-records`)

// shorten makes a command's line as short as it can be. Stores have 100,000 records, warm-ups
// take 0.2 s and windows 0.5 s, with small batches where the command says nothing of them.
// Comparisons have two trials, or one of each side, and sweeps one of each point.
func shorten(command string) string {
	line := strings.NewReplacer("sudo ", "", "9x", "1x -short", "5x", "1x -short", "AgainstRedis", "'^BenchmarkAgainstRedis$/batch-16'",
		"-transport inproc -secs 3", "-transport inproc -secs 0.5",
		"100k@10s,500k@500ms,100k@20s", "20k@200ms,50k@100ms,20k@200ms").Replace(command)
	switch {
	case strings.HasPrefix(line, "bin/kvsplot serve"):
		return served(line)
	case strings.HasPrefix(line, "./run-cluster.sh grade "), strings.Contains(line, "--study all"):
		return strings.TrimSuffix(line, " --dry-run") + " --dry-run"
	case !strings.HasPrefix(line, "./run-cluster.sh"), regexp.MustCompile(`--(preflight|reap|tune|study)`).MatchString(line):
		return line // these measure nothing
	case line == "./run-cluster.sh":
		line += " --secs 5" // shortened below
	default:
		line += " --no-ceiling"
	}
	switch {
	case strings.Contains(line, "--name "): // a baseline has trials; its limits are for a quiet machine
		line = strings.NewReplacer("--trials 6", "--trials 3", "slower=5%", "slower=99%", "cpu=5%", "cpu=900%").Replace(line)
	case strings.Contains(line, "--fail-if "):
		line = strings.NewReplacer("rate=1M", "rate=1", "p99=5ms", "p99=60s").Replace(line)
	case strings.Contains(line, "--curve"): // a machine that is busier than at the peak keeps up with these rates
		line = addClientArgs(strings.Replace(line, "--curve", "--secs 2 --trials 1 --curve 10%,20%", 1), "-warmup 2")
	case strings.Contains(line, "--ab "), strings.Contains(line, "--sweep "):
		line = regexp.MustCompile(` --trials \d`).ReplaceAllString(line, "") + " --trials 1"
		line = strings.Replace(line, "nodes=2,4,6,8", "nodes=2,4", 1)
	}
	less := "-records 100000"
	if !strings.Contains(line, "-warmup") && !strings.Contains(line, "--replay") { // a replay has none
		less += " -warmup 0.2"
	}
	if !regexp.MustCompile(`batch auto|--together`).MatchString(line) { // these need the window as it is
		if secs := regexp.MustCompile(` --secs [235]|-secs 5 ?`); secs.MatchString(line) {
			line = secs.ReplaceAllString(line, "")
			less += " -secs 0.5" // the launcher's own are whole
		}
		if strings.Contains(line, "batch") { // a round of few calls, or of small ones, is short
			less += " -workers 2"
		} else {
			less += " -batch 64"
		}
	}
	return addClientArgs(line, less)
}

// addClientArgs puts arguments before the clients' in a line of run-cluster.sh.
func addClientArgs(line, args string) string {
	for _, before := range []string{`2 "" "`, `--client-args "`} {
		if strings.Contains(line, before) {
			return strings.Replace(line, before, before+args+" ", 1)
		}
	}
	return line + ` --client-args "` + args + `"`
}

// smallGrades asks for less work in the grades of a copy.
func smallGrades(t *testing.T, dir string) {
	t.Helper()
	path := filepath.Join(dir, "plots", "grades.toml")
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	less := strings.NewReplacer("records = 1_000_000", "records = 100_000", "least_secs = 10", "least_secs = 1").Replace(string(text))
	if err := os.WriteFile(path, []byte(less), 0o644); err != nil {
		t.Fatal(err)
	}
}

// commitTwice makes a folder a git repository with two commits.
func commitTwice(t *testing.T, dir string) {
	t.Helper()
	for _, command := range []string{"init -q", "add -A", "commit -q --allow-empty -m one", "commit -q --allow-empty -m two"} {
		words := append(strings.Fields("-c user.name=t -c user.email=t@example.org -c commit.gpgsign=false -C"), dir)
		if out, err := exec.Command("git", append(words, strings.Fields(command)...)...).CombinedOutput(); err != nil {
			t.Fatalf("git %s: %v\n%s", command, err, out)
		}
	}
}

// copyTree copies what git would, so that a test may build and run in it.
func copyTree(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	leave := []string{".git", "bin", "logs"}
	err := filepath.WalkDir(".", func(path string, d os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			if slices.Contains(leave, path) {
				return filepath.SkipDir
			}
			return os.MkdirAll(filepath.Join(dir, path), 0o755)
		}
		if path == ".git" { // of a worktree, it leads to the repository
			return nil
		}
		if d.Type() == os.ModeSymlink {
			to, err := os.Readlink(path)
			if err != nil {
				return err
			}
			return os.Symlink(to, filepath.Join(dir, path))
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		return os.WriteFile(filepath.Join(dir, path), data, info.Mode())
	})
	if err != nil {
		t.Fatalf("copy the repository: %v", err)
	}
	return dir
}
