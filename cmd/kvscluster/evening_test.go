package main

import (
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"kvlab/metrics"
)

// courseServer is a server of the course's form that takes DELAY for each call: so long that
// 256 calls in flight, of 8 workers, are some 8k ops/s, which a busy machine can do, too.
const courseServer = `package main

import (
	"flag"
	"net/http"
	"net/rpc"
	"os/exec"
	"sync"
	"sync/atomic"
	"time"
)

type GetArgs struct{ Key string }
type GetReply struct{ Value string }
type PutArgs struct{ Key, Value string }
type PutReply struct{}

var start = exec.Command

type KVService struct {
	mu    sync.Mutex
	keys  map[string]string
	calls atomic.Int64
}

func (s *KVService) Get(args *GetArgs, reply *GetReply) error {
	time.Sleep(DELAY)
	calls := s.calls.Add(1)
	s.mu.Lock()
	defer s.mu.Unlock()
	reply.Value = s.keys[args.Key]
	GET
	_ = calls
	return nil
}

func (s *KVService) Put(args *PutArgs, reply *PutReply) error {
	time.Sleep(DELAY)
	s.mu.Lock()
	defer s.mu.Unlock()
	PUT
	s.keys[args.Key] = args.Value
	return nil
}

func main() {
	port := flag.String("port", "8080", "")
	flag.Parse()
	MAIN
	rpc.Register(&KVService{keys: map[string]string{}})
	rpc.HandleHTTP()
	http.ListenAndServe("127.0.0.1:"+*port, nil)
}
`

// team is a submission of the class of docs/grading.md.
type team struct {
	dir      string
	delay    time.Duration
	get, put string // statements of its Get and Put
	main     string // a statement of its main
	invalid  string // its reason matches; "" of a VALID one
}

// teams are servers of our own: two are byte-identical, some are slower by 2 to 100 %, one
// loses writes, one does not build, one hangs, one has a process beside it that takes memory.
var teams = []team{
	{dir: "handout", delay: 30 * time.Millisecond},
	{dir: "subs/same-a", delay: 30 * time.Millisecond},
	{dir: "subs/same-b", delay: 30 * time.Millisecond},
	{dir: "subs/loses", delay: 30 * time.Millisecond, put: `if s.keys[args.Key] != "" && len(args.Key)%2 == 0 { return nil }`, invalid: "lost|value|write|stale|linearizable"},
	{dir: "subs/unbuilt", put: "undefined()", invalid: `does not build: .*undefined: undefined`},
	{dir: "subs/hoards", delay: 30 * time.Millisecond, get: `if calls == 10 { start("sh", "-c", "head -c 600000000 /dev/zero | tail | sleep 100").Start() }`, invalid: `a server held [67]\d\d MB of memory, and the limit is 400 MB`},
	{dir: "subs/tenth", delay: 33 * time.Millisecond}, // 0.9x
	{dir: "subs/slow-2", delay: 30600 * time.Microsecond},
	{dir: "subs/slow-5", delay: 31500 * time.Microsecond},
	{dir: "subs/slow-20", delay: 36 * time.Millisecond},
	{dir: "subs/half", delay: 60 * time.Millisecond},
	{dir: "subs/fast", delay: 20 * time.Millisecond},
	{dir: "subs/crashes", delay: 30 * time.Millisecond, get: `if calls > 3000 { panic("no more room") }`, invalid: "INVALID"},
	{dir: "subs/wrong", delay: 30 * time.Millisecond, get: `if calls > 3000 && reply.Value != "" { reply.Value = reply.Value[:len(reply.Value)-1] + "?" }`, invalid: "INVALID"},
	{dir: "subs/hangs", delay: 30 * time.Millisecond, get: `if calls > 3000 { select {} }`, invalid: "INVALID"},
	{dir: "late/team-7", delay: 40 * time.Millisecond},
}

// gradingClass writes the class of docs/grading.md as it stands, but for its budget, less memory and fewer workers, with the
// folders of some teams.
func gradingClass(t *testing.T, budget string, secs int, teams []team) (file string) {
	t.Helper()
	page, err := os.ReadFile("../../docs/grading.md")
	if err != nil {
		t.Fatal(err)
	}
	text := regexp.MustCompile("(?s)```toml\n(.*?)```").FindSubmatch(page)[1]
	dir := t.TempDir()
	files := map[string]string{
		"class.toml":    strings.NewReplacer(`"90m"`, fmt.Sprintf("%q", budget), "least_secs = 5", fmt.Sprintf("least_secs = %d", secs), "--batch 32", "--batch 32 --workers 8", "[gates]\nmemory = \"2GB\"", "[gates]\nmemory = \"400MB\"").Replace(string(text)),
		"export.csv":    "Student,ID,SIS User ID,SIS Login ID,Section,KV lab 2 (1234)\n",
		"worksheet.csv": "Identifier,Full name,Grade,Feedback comments\n",
	}
	for i, team := range teams {
		files[team.dir+"/go.mod"] = "module team\n\ngo 1.21\n"
		files[team.dir+"/server/main.go"] = strings.NewReplacer("DELAY", fmt.Sprint(int64(team.delay)), "GET", team.get, "PUT", team.put, "MAIN", team.main).Replace(courseServer)
		files["worksheet.csv"] += fmt.Sprintf("Participant %d,%s,,\n", i, filepath.Base(team.dir))
	}
	for name, text := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return filepath.Join(dir, "class.toml")
}

// A class's evening: the class file of docs/grading.md as it stands, servers of our own, a
// launcher that is killed, and one entry that is changed in between. KVLAB_LONG=1 asks for all
// servers and six rounds. Another run disturbs three of them, and the launcher is killed ten
// times: nothing is measured twice, and the ranks are right all the same.
func TestClassEvening(t *testing.T) {
	needRoot(t)
	long := os.Getenv("KVLAB_LONG") == "1"
	some, budget, killedAt, disturbed := append(slices.Clone(teams[:6]), teams[len(teams)-1]), "1ms", []int{2}, []int(nil)
	secs := 2
	if long {
		some, budget, secs, killedAt, disturbed = teams, "40m", 5, []int{1, 2, 5, 9, 13, 14, 17, 21, 24, 29}, []int{3, 4, 5}
	}
	warm(t, strings.NewReplacer("DELAY", "1", "GET", "", "PUT", "", "MAIN", "").Replace(courseServer))
	root, out, file := build(t), t.TempDir(), gradingClass(t, budget, secs, some)
	latest := filepath.Join(out, "latest")
	launch := func(args ...string) *exec.Cmd { return exec.Command(filepath.Join(root, "bin", "kvscluster"), args...) }
	made := func() (trials []metrics.Trial) {
		if _, err := os.Stat(filepath.Join(latest, metrics.TrialsFile)); err == nil {
			read(t, filepath.Join(latest, metrics.TrialsFile), &trials)
		}
		return trials
	}
	evening := launch("grade", file, "--local", "--out", out, "--seed", "21")
	var said strings.Builder
	ended := make(chan error, 1)
	for _, trials := range killedAt {
		said.Reset()
		evening.Stdout, evening.Stderr = &said, &said
		if err := evening.Start(); err != nil {
			t.Fatal(err)
		}
		go func() { ended <- evening.Wait() }()
		for len(made()) < trials {
			select {
			case err := <-ended:
				t.Fatalf("the evening is over: %v\n%s", err, said.String())
			case <-time.After(50 * time.Millisecond):
			}
		}
		evening.Process.Kill()
		<-ended
		checkGone(t, root)
		evening = launch("--resume", latest)
	}

	changed := filepath.Join(filepath.Dir(file), "subs", "same-b", "server", "main.go")
	text, err := os.ReadFile(changed)
	if err == nil {
		err = os.WriteFile(changed, append(text, "// a better one\n"...), 0o644)
	}
	if err != nil {
		t.Fatal(err)
	}
	if said, err := launch("--resume", latest).CombinedOutput(); err == nil || !strings.Contains(string(said), "the entry same-b has changed since: measure a new version with --only same-b") {
		t.Errorf("%v\n%s", err, said)
	}
	if err := os.WriteFile(changed, text, 0o644); err != nil {
		t.Fatal(err)
	}
	before := len(made())
	said.Reset()
	evening.Stdout, evening.Stderr = &said, &said
	if err := evening.Start(); err != nil {
		t.Fatal(err)
	}
	go func() { ended <- evening.Wait() }()
	for running := true; running; {
		select {
		case err = <-ended:
			running = false
		case <-time.After(100 * time.Millisecond):
			if trials := made(); len(trials) > 0 && len(disturbed) > 0 && trials[len(trials)-1].Round == disturbed[0] {
				disturbed = disturbed[1:]
				launch("--local", "--secs", "3", "--records", "10000", "--no-ceiling", "--out", t.TempDir()).Run() // it takes all processors
			}
		}
	}
	t.Logf("%s", said.String())
	if err != nil || !strings.HasSuffix(said.String(), "\nverdict VALID\n") {
		t.Fatal(err)
	}
	checkGone(t, root)
	checkEvening(t, latest, some, before)
}

// checkEvening checks an evening's standings against what its servers do.
func checkEvening(t *testing.T, dir string, some []team, before int) {
	t.Helper()
	var s metrics.Standings
	read(t, filepath.Join(dir, metrics.StandingsFile), &s)
	plan, trials, err := metrics.ReadSweep(dir)
	if err != nil {
		t.Fatal(err)
	}
	places, of := make(map[string]bool), make(map[string]team)
	for i, trial := range trials {
		if place := fmt.Sprint(trial.Round, trial.Point); places[place] || trial.Number != i+1 {
			t.Errorf("trial %d, number %d: %s twice", i+1, trial.Number, place)
		} else {
			places[place] = true
		}
	}
	for _, team := range some {
		of[filepath.Base(team.dir)] = team
	}
	ranks := make(map[string]int)
	for _, e := range s.Entries {
		team := of[e.Entry]
		ranks[e.Entry] = e.Rank
		if team.invalid != "" {
			if e.Verdict.Valid || e.Score != 0 || !regexp.MustCompile(team.invalid).MatchString(e.Reason) {
				t.Errorf("%s: %+v, want it to match %q", e.Entry, e, team.invalid)
			}
			continue
		}
		for _, faster := range e.Faster {
			if of[faster].delay >= team.delay {
				t.Errorf("%s, of %s, is faster than %s, of %s", faster, of[faster].delay, e.Entry, team.delay)
			}
		}
		// No point is lost: the score is that of the true ratio, within its ±.
		truth := float64(some[0].delay) / float64(team.delay)
		half, known := e.PlusMinus()
		if known && e.RatioHigh < 1.1*e.RatioLow && math.Abs(e.Ratio/truth-1) > 0.1 || !e.Verdict.Valid || known && plan.Class.Precise(e) != (half <= plan.Class.Precision) {
			t.Errorf("%+v, want a ratio of %.2f", e, truth)
		}
	}
	if ranks["same-a"] != ranks["same-b"] {
		t.Errorf("byte-identical servers have ranks %d and %d", ranks["same-a"], ranks["same-b"])
	}
	if trials[0].Resumed || before == 0 || len(trials) <= before {
		t.Errorf("%d trials, %d of them before the interruption", len(trials), before)
	}
	t.Logf("%d rounds, without %v: %s", s.Rounds, s.Dropped, s.Ended)
}
