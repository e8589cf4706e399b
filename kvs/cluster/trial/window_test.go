package trial

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"time"

	"kvlab/kvs/cluster/plan"
	"kvlab/kvs/node"
	"kvlab/metrics"
	"kvlab/metrics/account"
)

// warming returns a controller of clients in the warm-up, with these flags, and their pipes.
func warming(t *testing.T, s Setup, clients int, flags string) (*Controller, []*pipe) {
	t.Helper()
	values := metrics.Settings{"workers": "64", "batch": "8192", "warmup": "1", "secs": "2", "call-timeout": "10"}
	config := &metrics.Config{Flags: values}
	for _, flag := range strings.Fields(flags) {
		name, value, _ := strings.Cut(flag, "=")
		values[name], config.Args = value, append(config.Args, "-"+flag)
	}
	c := New(s)
	c.begin = time.Now().Add(-values.WarmUp() + time.Second) // the warm-up has a second left
	var pipes []*pipe
	for i := range clients {
		p := &pipe{}
		pipes = append(pipes, p)
		place := plan.Place{Name: fmt.Sprint(i), Role: metrics.Client}
		log, err := openNodeLog(Folder(t.TempDir()), place, false)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(log.close)
		c.processes = append(c.processes, &process{Place: place, log: log, stdin: p, phase: metrics.WarmUp, Reported: account.Reported{Config: config}})
	}
	return c, pipes
}

// The window has 12 of the slowest client's rounds, all clients are told the same, and one
// line says so. What fits no window is refused with the batch that does.
func TestWindowFitsTheRounds(t *testing.T) {
	second := time.Second
	for _, test := range []struct {
		name   string
		setup  Setup
		flags  string
		rounds [2]time.Duration
		used   float64
		says   string // on standard error, or the fault
	}{
		{"long enough", Setup{}, "secs=30", [2]time.Duration{second, second / 2}, 30, ""},
		{"lengthened", Setup{}, "", [2]time.Duration{second / 10, 640 * time.Millisecond}, 8, "window lengthened from 2 s to 8 s: 12 rounds\n"},
		{"without a warm-up", Setup{}, "warmup=0", [2]time.Duration{second, 0}, 12, "window lengthened from 2 s to 12 s: 12 rounds\n"},
		{"the experiment's", Setup{Window: 9 * second}, "", [2]time.Duration{0, 640 * time.Millisecond}, 9, ""},
		{"the experiment's has ten rounds", Setup{Window: 9 * second}, "", [2]time.Duration{0, 890 * time.Millisecond}, 9, ""},
		{"longer than the experiment's", Setup{Window: 9 * second}, "", [2]time.Duration{0, second}, 18, "window lengthened from 9 s to 18 s: 12 rounds, and half as many more for the other trials\n"},
		{"an open loop", Setup{Window: 9 * second}, "rate=1k", [2]time.Duration{second, second}, 2, ""},
		{"a soak", Setup{Soak: time.Minute}, "secs=60", [2]time.Duration{9 * second, second}, 60, ""},
		{"a restart", Setup{Plan: plan.Plan{Spec: plan.Spec{RestartAt: second}, Places: []plan.Place{{}}}}, "secs=60", [2]time.Duration{9 * second, second}, 60, ""},
		{"too long", Setup{}, "", [2]time.Duration{25 * second, second}, 0, "-batch 8192: 12 rounds take 300 s, the longest window is 120 s: want -batch 2048 or less"},
		{"a typed length", Setup{}, "secs=300", [2]time.Duration{25 * second, second}, 300, ""},
		{"no smaller batch", Setup{}, "batch=1", [2]time.Duration{25 * second, second}, 0, "want -workers 16 or less"},
	} {
		said := new(bytes.Buffer)
		test.setup.Stderr = said
		c, pipes := warming(t, test.setup, 2, test.flags)
		if c.processes[0].settings().WarmUp() == 0 {
			c.begin = time.Now()
		}
		if f := c.settle(c.processes[0], test.rounds[0]); f != nil {
			t.Fatal(f)
		}
		f := c.settle(c.processes[1], test.rounds[1])
		if test.used == 0 {
			if f == nil || !strings.Contains(f.Reason, test.says) || f.Kind != plan.BadArgs {
				t.Errorf("%s: fault %v, want %q", test.name, f, test.says)
			}
			continue
		}
		if f != nil || said.String() != test.says {
			t.Errorf("%s: fault %v, says %q, want %q", test.name, f, said, test.says)
		}
		for i, p := range pipes {
			if told := p.told(t); told.Length != test.used || c.window.UsedS != test.used {
				t.Errorf("%s: client %d was told %v s, and run.json %+v, want %v s", test.name, i, told.Length, c.window, test.used)
			}
		}
	}
}

// A default of -batch that fits no window asks for one that does, twice; a typed one and a near
// deadline do not.
func TestWindowAsksForABatch(t *testing.T) {
	for _, test := range []struct {
		setup Setup
		flags string
		leftS float64 // until the deadline; 0: there is none
		batch uint64
		says  string
	}{
		{Setup{}, "", 0, 2048, "batch lowered from 8192 to 2048, and the trial made again: 12 rounds take 300 s, the longest window is 120 s\n"},
		{Setup{Batch: 2048, Lowered: 1}, "", 0, 512, "batch lowered from 2048 to 512, and the trial made again: 12 rounds take 300 s, the longest window is 120 s\n"},
		{Setup{Batch: 512, Lowered: 2}, "", 0, 0, ""},
		{Setup{Batch: 2048}, "batch=8192", 0, 0, ""},
		{Setup{}, "", 60, 0, ""},
	} {
		said := new(bytes.Buffer)
		test.setup.Stderr, test.setup.Preflight = said, new(metrics.Preflight)
		c, _ := warming(t, test.setup, 1, test.flags)
		if test.leftS > 0 {
			c.ends = time.Now().Add(seconds(test.leftS))
		}
		if err := c.fitLink(); err != nil {
			t.Fatal(err)
		}
		f := c.settle(c.processes[0], 25*time.Second)
		if f == nil || f.Kind != plan.BadArgs || f.Batch != test.batch || said.String() != test.says {
			t.Errorf("%+v, %s: fault %+v, says %q, want batch %d, %q", test.setup, test.flags, f, said, test.batch, test.says)
		}
	}
}

// A warm-up that the clients had to lengthen is told, too.
func TestLateWarmUp(t *testing.T) {
	said := new(bytes.Buffer)
	c, pipes := warming(t, Setup{Stderr: said}, 1, "")
	c.begin = c.begin.Add(-5 * time.Second)
	if f := c.settle(c.processes[0], 2*time.Second); f != nil {
		t.Fatal(f)
	}
	text, late := said.String(), pipes[0].told(t).At.Sub(c.runTime(c.begin))
	if !strings.HasPrefix(text, "warm-up lengthened by ") || !strings.HasSuffix(text, " s: 3 rounds; window lengthened from 2 s to 24 s: 12 rounds\n") || late < 5*time.Second {
		t.Errorf("the window opens %v after the warm-up's beginning: %q", late, text)
	}
}

// The two trials of a pair open their windows at one time, and take the longer.
func TestPairAgreesOnTheWindow(t *testing.T) {
	ends := NewBarriers()
	var told [2]node.Command
	var all [2]*Controller
	var pipes [2][]*pipe
	for i, round := range []time.Duration{time.Second, 2 * time.Second} {
		all[i], pipes[i] = warming(t, Setup{Barrier: ends[i]}, 1, "")
		all[i].began = all[0].began
		if f := all[i].settle(all[i].processes[0], round); f != nil {
			t.Fatal(f)
		}
		if pipes[i][0].Len() > 0 {
			t.Fatal("a trial did not wait for the other")
		}
	}
	for i, c := range all {
		if f := c.handle(<-c.inbox); f != nil {
			t.Fatal(f)
		}
		told[i] = pipes[i][0].told(t)
	}
	if told[0].Length != 24 || told[0].Length != told[1].Length || !told[0].At.Equal(told[1].At) {
		t.Errorf("told %+v and %+v, want one time and 24 s", told[0], told[1])
	}
}

// A default batch whose calls the load's speed makes too long is lowered, never a typed one;
// a call of that one which has no reply is explained by it.
func TestLoadBatch(t *testing.T) {
	for _, test := range []struct {
		flags  string
		roundS float64 // by the load
		batch  uint64
		says   string
	}{
		{"", 1.2, 0, ""},
		{"", 24, 256, "batch lowered from 8192 to 256: at the load's speed a round takes 24 s, and 1.25 s leave time for a busy machine\n"},
		{"call-timeout=30", 24, 256, "batch lowered from 8192 to 256: at the load's speed a round takes 24 s, and 1.25 s leave time for a busy machine\n"},
		{"call-timeout=2", 2, 1024, "batch lowered from 8192 to 1024: at the load's speed a round takes 2 s, and 0.25 s leave time for a busy machine\n"},
		{"batch=8192", 24, 0, ""},
		{"", 0, 0, ""},
	} {
		said := new(bytes.Buffer)
		c, _ := warming(t, Setup{Stderr: said}, 2, test.flags)
		c.processes[1].round = seconds(test.roundS)
		if c.fitLoad(); c.batch != test.batch || said.String() != test.says {
			t.Errorf("%s, rounds of %v s: batch %d, %q, want %d, %q", test.flags, test.roundS, c.batch, said, test.batch, test.says)
		}
	}
	c, _ := warming(t, Setup{}, 1, "batch=8192")
	c.processes = append(c.processes, &process{Place: plan.Place{Role: metrics.Server, Name: "node0"}})
	c.processes[0].round = 24 * time.Second
	f := c.blame(c.processes[0], node.Event{Peer: "node0", Text: "no reply within 10s"})
	if want := "no reply within 10s: at the load's speed a round takes 24 s, and -call-timeout is 10 s: want -batch 1024 or less"; f.Reason != want {
		t.Errorf("fault %q, want %q", f.Reason, want)
	}
	c.processes[0].round = time.Second
	if f := c.blame(c.processes[0], node.Event{Peer: "node0", Text: "no reply within 10s"}); f.Kind != plan.Hang {
		t.Errorf("a fast load explains %v", f)
	}
}
