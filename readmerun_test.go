package kvlab_test

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"kvlab/kvs/driver/redistest"
)

// apart is the verdict on a pair of trials whose windows have too little in common.
var apart = regexp.MustCompile(`\nverdict INVALID\(.*the windows of the two trials have only .*\)\n$`)

// TestReadmeCommandsRun runs every command that README.md and docs show, in their order,
// in a copy of the repository. Stores are a tenth of the default's, warm-ups half a
// second and windows one, with small batches where the command says nothing of them, no
// ceiling is measured where that is not the point, and
// some commands are cut short further: tests and the self-test run elsewhere, a cluster
// that is not there and the studies that come with kvlab are only planned for, the plain run's window is a second, --trials and
// --ab have two trials, sweeps one of each point and the curve three, a search is only planned for, and the comparisons make one pair of runs (with
// Redis, of one row).
func TestReadmeCommandsRun(t *testing.T) {
	if os.Getenv("KVLAB_CI") != "1" {
		t.Skip("KVLAB_CI=1 runs it")
	}
	dir := copyTree(t)
	labServer(t, dir)
	writeStudy(t, dir)
	writeClass(t, dir)
	for _, command := range readmeCommands(t) {
		t.Run(command, func(t *testing.T) {
			line := command
			switch {
			case strings.HasPrefix(line, "go test ./"), strings.HasPrefix(line, "git clone"), strings.HasPrefix(line, "cd "):
				t.Skip("this test is part of it")
			case strings.Contains(line, "--selftest"):
				t.Skip("TestQuickSelfTest of kvs/cluster/kvscluster runs it")
			case strings.HasPrefix(line, "bin/kvsplot pack "), strings.HasPrefix(line, "./run-cluster.sh rerun "):
				t.Skip("TestArtifact runs it")
			case strings.Contains(line, "--tune apply"):
				t.Skip("TestTune of kvs/cluster/kvscluster runs it, on no settings of this machine")
			case strings.HasPrefix(line, "bin/kvsserver -resp"), strings.HasPrefix(line, "redis-"):
				t.Skip("TestTools of kvs/server/door runs it")
			case strings.Contains(line, "RedisDoor"):
				redistest.Need(t, "redis-server", "redis-benchmark", "redis-cli")
				line = strings.Replace(line, "9x", "1x -short", 1)
			case line == "./run-cluster.sh":
				line += " --secs 1"
			case strings.Contains(line, "AgainstRedis"):
				redistest.Need(t, "redis-server", "redis-benchmark", "redis-cli")
				line = strings.NewReplacer("5x", "1x -short", "AgainstRedis", "'^BenchmarkAgainstRedis$/default'").Replace(line)
			case strings.HasPrefix(line, "bin/kvsplot serve"):
				line = served(line)
			case strings.Contains(line, "--baseline"): // its limits are for a quiet machine
				line = strings.NewReplacer("--trials 6", "--trials 3", "slower=5%", "slower=99%", "cpu=5%", "cpu=99%").Replace(line)
			case strings.Contains(line, "--name main"):
				line = strings.Replace(line, "--trials 6", "--trials 3", 1)
			case strings.HasPrefix(line, "./run-cluster.sh --trials 6"):
				line = strings.Replace(line, "--trials 6", "--trials 2", 1)
			case strings.Contains(line, "--sweep batch="):
				line = strings.NewReplacer("--trials 6", "--trials 1", "--trials 2", "--trials 1").Replace(line)
			case strings.Contains(line, "--sweep target="):
				line = strings.NewReplacer("--secs 5", "--secs 2", "--trials 2", "--trials 1").Replace(line)
			case strings.HasPrefix(line, "./run-cluster.sh grade "):
				line += " --dry-run"
			case strings.Contains(line, "--study mine.toml"):
				line = strings.Replace(line, "--trials 20", "--quick", 1)
			case strings.Contains(line, "--study"):
				line += " --dry-run"
			case strings.Contains(line, "--slo"):
				line += " --dry-run"
			case strings.Contains(line, "--curve"):
				line = strings.Replace(line, "--curve", "--secs 1 --trials 1 --curve 30%,60%", 1)
			case strings.Contains(line, "--ab"):
				line = strings.ReplaceAll(line, " --trials 6", "") + " --trials 1"
				if strings.Contains(line, "HEAD~1") {
					commitTwice(t, dir)
				}
			case strings.Contains(line, "DedupOnLink"):
				line = strings.ReplaceAll(line, "5x", "1x -short")
			case strings.Contains(line, "--virtual"):
				redistest.Need(t, "ip", "tc", "ssh", "/usr/sbin/sshd")
				line = strings.NewReplacer("sudo ", "", "nodes=2,4,6,8 --trials 3", "nodes=2,4 --trials 1").Replace(line)
			case strings.Contains(line, "--nodes"):
				// The names must resolve, which addresses do.
				line = strings.ReplaceAll(line, "node0,node1,node2,node3", "10.10.1.1,10.10.1.2,10.10.1.3,10.10.1.4") + " --dry-run"
			}
			line = shorten(line)
			plain := command == "./run-cluster.sh" // which alone keeps its ceiling
			if strings.HasPrefix(line, "./run-cluster.sh") && !plain && !strings.Contains(line, "--re") {
				line += " --no-ceiling"
			}
			c := exec.Command("bash", "-c", line)
			c.Dir = dir
			out, err := c.CombinedOutput()
			if strings.Contains(line, "--together") && apart.Match(out) {
				return // a busy machine may open the two windows apart, and the verdict then says so
			}
			if err != nil {
				t.Fatalf("%s: %v\n%s", line, err, out)
			}
			if said := regexp.MustCompile(`(?s)\nlimit    .*\sharness\s+ceiling\s`); plain && !said.Match(out) {
				t.Errorf("%s does not say how good it could be, or what limits it:\n%s", line, out)
			}
			verdict := !strings.Contains(line, "--dry-run") && !strings.Contains(line, "--check") && !strings.Contains(line, "--preflight") && !strings.Contains(line, "--tune show") && !strings.Contains(line, "--reap")
			if strings.HasPrefix(line, "./run-cluster.sh") && verdict && !bytes.HasSuffix(out, []byte("verdict VALID\n")) {
				t.Fatalf("%s does not end with its verdict:\n%s", line, out)
			}
		})
	}
}

// shorten makes a run as short as it can be, unless the command says itself how
// long its warm-up is, or how many records it has.
func shorten(line string) string {
	if !strings.HasPrefix(line, "./run-cluster.sh") || strings.Contains(line, "--re") || strings.Contains(line, "--selftest") || strings.Contains(line, "--study") || strings.Contains(line, ".toml") && !strings.Contains(line, "--target") { // these stand alone, or say how long they are
		return line
	}
	less := "-warmup 0.5 -records 100000"
	if !strings.Contains(line, "batch") && !strings.Contains(line, "-warmup") { // large batches need the window as it is
		less += " -batch 256"
		line = strings.NewReplacer("secs 5", "secs 1", "secs 3", "secs 1").Replace(line)
	}
	line = strings.NewReplacer(`2 "" "`, `2 "" "`+less+` `, `--client-args "`, `--client-args "`+less+` `).Replace(line)
	if !strings.Contains(line, "-warmup") {
		line += ` --client-args "` + less + `"`
	}
	return line
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
