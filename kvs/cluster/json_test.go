package cluster

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"testing"

	"kvlab/internal/cli"
)

// document is what a script reads of --json.
type document struct {
	Verdict *struct {
		Valid  bool
		Check  string
		Reason string
	}
	Answer  *struct{ Verdict, Headline string }
	Figures []struct {
		Name, Unit       string
		Value, Low, High float64
	}
	Lines    []string
	Machines []any
	Folder   string
	Error    string
	Status   *int `json:"exit_status"`
}

// With --json, standard output is one JSON object, whatever is run and however it ends, and
// standard error has what people read.
func TestJSON(t *testing.T) {
	for _, test := range []struct {
		args, fault string
		status      int
		figure      string // that it has
		unit        string
		said        string // on standard error
	}{
		{"--secs 1", "", 0, "ops/s", "ops/s", "\nverdict VALID\n"},
		{"--secs 1", "node1:exit3:window", 1, "", "", "\nverdict INVALID("},
		{"--secs 1 --trials 2", "", 0, "call p50", "ms", "\nverdict VALID\n"},
		{"--secs 1 --sweep batch=64,128 --trials 1", "", 0, "ops/s at batch=128", "ops/s", "\nverdict VALID\n"},
		{"--secs 1 --ab '' '' --trials 1", "", 0, "B/A", "", "\nverdict VALID\n"},
		{"--curve 40%,80% --trials 1", "", 0, "peak, ops/s", "ops/s", "\nverdict VALID\n"},
		{"--preflight", "", 0, "", "", "\n"},
		{"--dry-run", "", 0, "", "", "servers"},
		{"--trails 2", "", 2, "", "", "did you mean --trials?"},
		{"--resume /nonexistent", "", 2, "", "", "no such file or directory"},
	} {
		t.Run(test.args+test.fault, func(t *testing.T) {
			tr := newTrial(t)
			words, err := cli.SplitWords(test.args)
			if err != nil {
				t.Fatal(err)
			}
			args := []string{"1", "1", "-fake-clients node1 " + test.fault, test.fault, "--json", "--no-ceiling", "--out", tr.out}
			err = tr.Launcher.Run(context.Background(), append(args, words...))
			in := json.NewDecoder(strings.NewReader(tr.stdout.String()))
			var d document
			if err := in.Decode(&d); err != nil {
				t.Fatalf("%v\n%s", err, tr.stdout.String())
			}
			if err := in.Decode(new(any)); !errors.Is(err, io.EOF) {
				t.Errorf("more than one object (%v):\n%s", err, tr.stdout.String())
			}
			if d.Status == nil || *d.Status != test.status || ExitStatus(err) != test.status {
				t.Errorf("exit status %v in the object, %d of the launcher, want %d: %v", d.Status, ExitStatus(err), test.status, err)
			}
			if !strings.Contains(tr.stderr.String(), test.said) {
				t.Errorf("standard error has no %q:\n%s", test.said, tr.stderr.String())
			}
			found := test.figure == ""
			for _, f := range d.Figures {
				found = found || f.Name == test.figure && f.Unit == test.unit && f.Value > 0
			}
			if !found {
				t.Errorf("no %s with a value: %s", test.figure, tr.stdout.String())
			}
			switch measured := strings.Contains(test.said, "verdict"); {
			case (d.Verdict != nil) != measured || measured && (d.Verdict.Valid != (test.status == 0) || d.Answer == nil || d.Answer.Headline == "" || !strings.HasPrefix(d.Folder, tr.out)):
				t.Errorf("the verdict, the answer or the folder is missing: %s", tr.stdout.String())
			case test.status == 1 && (d.Verdict.Check == "" || d.Verdict.Reason == ""):
				t.Errorf("no check or no reason: %s", tr.stdout.String())
			case (d.Error != "") != (test.status == 2):
				t.Errorf("the error is %q", d.Error)
			case (len(d.Machines) > 0) != (test.args == "--preflight"):
				t.Errorf("%d machines", len(d.Machines))
			}
		})
	}
}
