package verdict

import (
	"flag"
	"os"
	"slices"
	"strings"
	"testing"

	"kvlab/metrics"
)

var update = flag.Bool("update", false, "write the table of docs/measuring.md anew")

// Every row has its own ID, says what it means and what to do, and is found by a verdict.
func TestTable(t *testing.T) {
	known := map[string]bool{}
	for _, c := range slices.Concat(checks, faults) {
		if c.ID == "" || known[c.ID] || c.Meaning == "" || c.Advice == "" || strings.Contains(c.Meaning+c.Advice, "\n") {
			t.Errorf("row %+v", c)
		}
		if known[c.ID] = true; Advice(metrics.Verdict{Check: c.ID}) != c.Advice {
			t.Errorf("%s: %q", c.ID, Advice(metrics.Verdict{Check: c.ID}))
		}
	}
	if text := Advice(metrics.Verdict{Reason: "the histogram"}); !strings.Contains(text, "docs/measuring.md") {
		t.Errorf("without a check: %q", text)
	}
}

// The list of docs/measuring.md is the table.
func TestTablePage(t *testing.T) {
	const page, first, end = "../../docs/measuring.md", "| check |", "\n\n"
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, found := strings.Cut(string(text), first)
	old, after, ended := strings.Cut(first+rest, end)
	if !found || !ended {
		t.Fatal("no table of checks")
	}
	if *update {
		if err := os.WriteFile(page, []byte(before+Table()+end[1:]+after), 0o644); err != nil {
			t.Fatal(err)
		}
	} else if old+"\n" != Table() {
		t.Error("docs/measuring.md has another table of checks: go test ./kvs/verdict -run TestTablePage -update")
	}
}
