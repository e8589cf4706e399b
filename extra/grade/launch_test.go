package grade

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"kvlab/extra/grade/evening"
	"kvlab/internal/fakecluster"
	"kvlab/kvs/cluster"
	"kvlab/kvs/cluster/plan"
	"kvlab/kvs/cluster/trial"
	"kvlab/metrics"
	"kvlab/metrics/format"
)

// fakeClass is a class of fake nodes: one entry's server dies, one does not build. Its
// budget is that of one round.
const fakeClass = `title = "Fakes"
budget = "1ms"
[work]
workload = "YCSB-B"
records = 1
value_size = 128
least_secs = 1
args = "1 1 --server-args '-fake-clients node1'"
allow = ["ONE MACHINE", "memory", "disk", "governor", "clock", "CLOCK-RATE", "rtt"]
[reference]
name = "base"
[[entry]]
name = "good"
args = "--batch 9"
[[entry]]
name = "dies"
args = "--server-args '-fake-clients node1 node0:kill:window'"
[[entry]]
name = "broken"
revision = "no-such"
[score]
steps = ["0.5x 60 %", "2x 100 %"]
`

func classFile(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "class.toml")
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

// A class is ranked though entries fail, and its folder has the standings.
func TestGradedClass(t *testing.T) {
	t.Parallel()
	tr := fakecluster.New(t, Kind)
	if err := tr.Run(context.Background(), "grade", classFile(t, fakeClass), "--name", "lab2", "--seed", "4"); err != nil {
		t.Fatalf("%v\n%s%s", err, tr.Stdout.String(), tr.Stderr.String())
	}
	out := format.OneLine(tr.Stdout.String())
	for _, want := range []string{"broken does not build: server:no-such: no such commit in ", " rank entry ratio, its 95 % interval score 1 ", " good ", " base ", " - dies - INVALID - broken - INVALID dies: trial ", " broken: it does not build: server:no-such", "INVALID(died of signal 9",
		": 1 store ranked, 2 INVALID, 1 round, ", " trials: the budget of 0 minutes", " verdict VALID"} {
		if !strings.Contains(out, want) {
			t.Errorf("no %q in\n%s", want, out)
		}
	}
	plan, trials := tr.Trials(t)
	if len(places(trials)) != 3 || plan.Class == nil || plan.Class.Title != "Fakes" || len(plan.Class.Entries) != 4 || len(plan.Knobs[0].Values) != 3 || trials[len(trials)-1].Round != 1 || !strings.HasSuffix(plan.ID, "-lab2") {
		t.Errorf("plan %+v, trials %+v", plan, trials)
	}
	var s, want metrics.Standings
	if err := metrics.ReadJSON(filepath.Join(tr.Out, "latest", metrics.StandingsFile), &s); err != nil {
		t.Fatal(err)
	}
	text, _ := json.Marshal(evening.Decide(plan, trials))
	if err := json.Unmarshal(text, &want); err != nil || !reflect.DeepEqual(s, want) || s.Rounds != 1 || !strings.HasPrefix(s.Ended, "the budget of 0 minutes") || len(s.Entries) != 4 {
		t.Errorf("%+v, want %+v (%v)", s, want, err)
	}
}

// places returns the trials by round and entry.
func places(trials []metrics.Trial) map[string]metrics.Trial {
	last := make(map[string]metrics.Trial)
	for _, trial := range trials {
		last[fmt.Sprint(trial.Round, trial.Point)] = trial
	}
	return last
}

// A reference that fails makes the evening INVALID. An entry that was submitted again is
// measured alone beside it.
func TestClassWithoutReference(t *testing.T) {
	t.Parallel()
	tr := fakecluster.New(t, Kind)
	text := strings.Replace(strings.Replace(fakeClass, "name = \"base\"", "name = \"base\"\nargs = \"--server-args '-fake-clients node1 node0:kill:window'\"", 1), "budget = \"1ms\"", "", 1)
	err := tr.Run(context.Background(), "grade", classFile(t, text), "--only", "good")
	if out := tr.Stdout.String(); cluster.ExitStatus(err) != 1 || !strings.Contains(out, "verdict INVALID(the reference failed: trial ") {
		t.Errorf("%v\n%s", err, out)
	}
	if _, trials := tr.Trials(t); len(places(trials)) < 4 {
		t.Errorf("trials %v, want 2 rounds of 2, and those that other work disturbed", places(trials))
	}
}

func TestClassRefusals(t *testing.T) {
	t.Parallel()
	file := classFile(t, fakeClass)
	for args, want := range map[string]string{
		"grade":                                         "grade: want a class file, as in grade class.toml",
		"grade --local":                                 "grade: want a class file",
		"grade none.toml":                               `invalid value "none.toml" for grade: open none.toml: no such file`,
		"grade " + file + " --secs 3":                   "grade: the class file decides on --secs; beside it may stand --only, ",
		"grade " + file + " --batch 3":                  "the class file decides on --batch",
		"grade " + file + " 2 2":                        "the class file decides on --clients",
		"grade " + file + " --sweep batch=1":            "the class file decides on --sweep",
		"grade " + file + " --curve":                    "the class file decides on --curve",
		"grade " + file + " --client-args x":            "the class file decides on --client-args",
		"grade " + file + " --only nobody":              "--only nobody: " + file + " has no such entry",
		"grad class.toml":                               `servers "grad": must be a positive whole number; did you mean grade?`,
		"--only good":                                   "--only needs --class",
		"grade " + file + " --check-one /none/x":        `checkout "/none/x": no such folder`,
		"grade " + file + " --check-one " + t.TempDir(): "does not build: the folder has no go.mod of kvlab",
		"grade " + file + " --check-one x --only good":  "--only excludes --check-one",
		"grade " + classFile(t, strings.Replace(fakeClass, "--batch 9", "--bach 9", 1)):                        "class.toml:12: good: --bach: unknown flag; did you mean --batch?",
		"grade " + classFile(t, strings.Replace(fakeClass, "1 1 --server", "1 1 --bach 9 --server", 1)):        "class.toml:10: base: --bach: unknown flag",
		"grade " + classFile(t, strings.Replace(fakeClass, "name = \"base\"", "revision = \"no-such\"", 1)):    "entry reference: server:no-such: no such commit in ",
		"grade " + classFile(t, strings.Replace(fakeClass, "name = \"base\"", "args = \"--value-size 5\"", 1)): `not the work of `,
	} {
		tr := fakecluster.New(t, Kind)
		err := tr.Run(context.Background(), strings.Fields(args)...)
		if cluster.ExitStatus(err) != 2 || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%q: %v, want one line with %q", args, err, want)
		}
		if entries, _ := os.ReadDir(tr.Out); len(entries) > 0 {
			t.Errorf("%q: %s was made", args, entries[0].Name())
		}
	}
	tr := fakecluster.New(t, Kind)
	if err := tr.Run(context.Background(), "grade", classFile(t, fakeClass+"[contain]\nmemory = '2GB'\n")); cluster.ExitStatus(err) != 2 || !strings.Contains(err.Error(), "class.toml:23: this launcher has no --contain") {
		t.Errorf("limits without what contains: %v", err)
	}
	var limits string
	tr.Extras.Contain = &plan.ContainFlag{Parse: func(text string) (plan.Wrapper, error) { limits = text; return nil, errors.New("no such wall") }}
	if err := tr.Run(context.Background(), "grade", classFile(t, fakeClass+"[contain]\nprocesses = 256\nmemory = '2GB'\n")); cluster.ExitStatus(err) != 2 || !strings.Contains(err.Error(), "class.toml:23: no such wall") || limits != "memory=2GB,processes=256" {
		t.Errorf("limits %q: %v", limits, err)
	}
	if err := trial.Folder(tr.Out).WriteJSON(metrics.SweepFile, metrics.Sweep{Schema: metrics.Schema, ID: "c", Command: []string{"run-cluster.sh", "grade", file}}); err != nil {
		t.Fatal(err)
	}
	if err := tr.Run(context.Background(), "rerun", tr.Out); cluster.ExitStatus(err) != 2 || !strings.Contains(err.Error(), "it is a class: run-cluster.sh grade measures") {
		t.Errorf("a rerun: %v", err)
	}
}

func TestClassDryRun(t *testing.T) {
	t.Parallel()
	tr := fakecluster.New(t, Kind)
	if err := tr.Run(context.Background(), "grade", classFile(t, fakeClass), "--dry-run", "--seed", "3"); err != nil {
		t.Fatal(err)
	}
	out := tr.Stdout.String()
	for _, want := range []string{"Fakes: 3 trials in each round, at least ", "in random order by --seed 3\n", "broken does not build: ", "\n== entry=good\n1 server, 1 client\n"} {
		if !strings.Contains(out, want) {
			t.Errorf("no %q in\n%s", want, out)
		}
	}
}

// The launcher is killed at random moments and resumed each time. Nothing is measured
// twice, and the standings are those of the same trials in one piece.
func TestKilledClass(t *testing.T) {
	t.Parallel()
	kills := 3
	if os.Getenv("KVLAB_LONG") == "1" {
		kills = 20
	}
	root, out := t.TempDir(), t.TempDir()
	rounds := 1 + kills/3
	file := classFile(t, strings.Replace(fakeClass, `budget = "1ms"`, fmt.Sprintf(`budget = "%dms"`, rounds*3*500), 1))
	random := rand.New(rand.NewPCG(17, uint64(kills)))
	latest := filepath.Join(out, "latest")
	cmd := fakecluster.Process(root, "grade", file, "--out", out, "--seed", "8", "--local")
	ended := false
	for kill := 0; kill < kills && !ended; kill++ {
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		done := make(chan struct{})
		go func() { cmd.Wait(); close(done) }()
		if kill == 0 { // there is nothing to resume before
			for range 12_000 {
				if _, err := os.Stat(filepath.Join(latest, metrics.SweepFile)); err == nil {
					break
				}
				time.Sleep(10 * time.Millisecond)
			}
		}
		select {
		case <-done:
			ended = true
		case <-time.After(time.Duration(random.Int64N(int64(1500 * time.Millisecond)))):
			cmd.Process.Kill()
			<-done
		}
		cmd = fakecluster.Process(root, "--resume", latest)
	}
	if said, err := cmd.CombinedOutput(); err != nil || !strings.HasSuffix(string(said), "\nverdict VALID\n") {
		t.Fatalf("%v\n%s", err, said)
	}
	plan, trials := fakecluster.Trials(t, latest)
	for i, trial := range trials {
		if _, again := places(trials[:i])[fmt.Sprint(trial.Round, trial.Point)]; again || trial.Number != i+1 {
			t.Errorf("trial %d is %d, of %s in round %d", i+1, trial.Number, trial.Point, trial.Round)
		}
	}
	want, _ := json.MarshalIndent(evening.Decide(plan, trials), "", "  ")
	if got, err := os.ReadFile(filepath.Join(latest, metrics.StandingsFile)); err != nil || string(got) != string(want)+"\n" {
		t.Errorf("standings %s, want %s (%v)", got, want, err)
	}
	t.Logf("%d kills, %d trials", kills, len(trials))
}
