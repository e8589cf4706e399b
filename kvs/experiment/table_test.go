package experiment

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"reflect"
	"strconv"
	"strings"
	"testing"
	"time"

	"kvlab/metrics"
)

// A table says the same as trials.json, to the last digit.
func TestTableRoundTrip(t *testing.T) {
	p50 := 812.3
	trials := []metrics.Trial{
		{
			PlannedTrial: metrics.PlannedTrial{Number: 1, Point: []string{"4", "a,b"}}, Folder: "trial-001",
			Started: time.Date(2026, 11, 21, 15, 30, 0, 123456789, time.UTC), Ended: time.Date(2026, 11, 21, 15, 31, 0, 1, time.UTC),
			Servers: 2, Clients: 2, Workers: 64, Ops: 1 << 60, WindowS: 29.99999999, OpsPerS: 1.0 / 3, P50: &p50, OpP95: &p50, OpP99: &p50, OpP999: &p50, LateP99: &p50, OfferedOpsPerS: 1e5,
			BytesPerOpSent: 11.1, BytesPerOpReceived: 123.4, LinkBitsPerS: 1e9, NonStationary: true, Counting: metrics.CountsBounded, Verdict: metrics.Verdict{Valid: true},
		},
		{
			PlannedTrial: metrics.PlannedTrial{Number: 2, Point: []string{"8", "auto"}}, Folder: "trial-002",
			Started: time.Date(2026, 11, 21, 15, 32, 0, 0, time.UTC), Ended: time.Date(2026, 11, 21, 15, 33, 0, 0, time.UTC),
			Verdict: metrics.Verdict{Reason: `died of "signal 9", alone`, Node: "node1"},
		},
	}
	knobs := []metrics.Knob{{Name: "nodes", Values: []string{"4", "8"}}, {Name: "servers", Values: []string{"a,b", "auto"}}}
	lines, err := csv.NewReader(strings.NewReader(table(knobs, trials))).ReadAll()
	if err != nil || len(lines) != 3 {
		t.Fatalf("%d lines, %v", len(lines), err)
	}
	for i, line := range lines[1:] {
		if got := readBack(t, lines[0], line); !reflect.DeepEqual(got, trials[i]) {
			t.Errorf("line %q reads back as %+v", line, got)
		}
	}
}

// readBack makes a trial of a line through the names of trials.json.
func readBack(t *testing.T, head, line []string) metrics.Trial {
	t.Helper()
	fields := make(map[string]any)
	verdict := make(map[string]any)
	var point []string
	for i, name := range head {
		cell := line[i]
		switch name {
		case "knob_nodes", "knob_servers":
			point = append(point, cell)
		case "valid":
			verdict[name] = cell == "true"
		case "counts":
			fields[name] = cell
		case "non_stationary":
			fields[name] = cell == "true"
		case "reason", "node":
			verdict[name] = cell
		case "started", "ended", "folder":
			fields[name] = cell
		default:
			if cell != "" {
				fields[name] = json.Number(cell)
			}
		}
	}
	fields["point"], fields["verdict"] = point, verdict
	text, err := json.Marshal(fields)
	if err != nil {
		t.Fatal(err)
	}
	var trial metrics.Trial
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&trial); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	if strconv.Itoa(trial.Number) != line[0] {
		t.Errorf("number %d stands in line %q", trial.Number, line)
	}
	return trial
}
