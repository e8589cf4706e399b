package study

import (
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// What a trial of a study takes beside its warm-up and window, with 100,000 records and two
// processors.
const (
	perTrial  = 2500 * time.Millisecond
	perWorker = time.Millisecond // with a connection of its own
)

// lengthOf returns about how long a point's trials take.
func lengthOf(t *testing.T, args string, trials int) time.Duration {
	t.Helper()
	words := strings.Fields(args)
	length := perTrial
	for flag, unit := range map[string]time.Duration{"--warmup": time.Second, "--secs": time.Second, "--workers": perWorker} {
		i := len(words) - 1
		for ; i >= 0 && words[i] != flag; i-- {
		}
		if i < 0 || i+1 == len(words) {
			t.Fatalf("%s: want %s", args, flag)
		}
		number, err := strconv.ParseFloat(words[i+1], 64)
		if err != nil {
			t.Fatalf("%s: %v", args, err)
		}
		length += time.Duration(number * float64(unit))
	}
	return length * time.Duration(trials)
}

// One machine of two processors has an outcome for every shipped claim: the full forms
// together within an hour, and each quick form within five minutes.
func TestShippedStudies(t *testing.T) {
	missing := func(need string) string {
		if strings.HasPrefix(need, "nodes=") {
			return "needs more nodes"
		}
		return ""
	}
	length := func(files []File, quick bool) (all time.Duration) {
		plan, trials := Plan(files, quick, 0, missing, func(string) string { return "" })
		for i, p := range plan.Points {
			all += lengthOf(t, p.Args, trials[i])
		}
		return all
	}
	files, err := ReadAll("all")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		quick := length([]File{f}, true)
		t.Logf("%s: quick %v, full %v", f.Name, quick, length([]File{f}, false))
		if quick > 5*time.Minute {
			t.Errorf("%s: the quick form takes %v", f.Name, quick)
		}
		for _, c := range f.Claims {
			if !strings.HasSuffix(strings.TrimSuffix(c.Text, ")"), ".") || c.Source == "" && !strings.Contains(f.Source, " at ") {
				t.Errorf("%s: %s: want a sentence, and a source with its revision", f.Name, c.Name)
			}
		}
	}
	if full := length(files, false); full > time.Hour {
		t.Errorf("the full forms take %v together", full)
	} else {
		t.Logf("all: %v", full)
	}
	if !slices.IsSorted(Names()) {
		t.Errorf("names %v are not in order", Names())
	}
}
