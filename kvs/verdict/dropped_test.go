package verdict

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"kvlab/metrics"
)

// needless are the fields of a node's records, by their path, that a run is VALID without,
// with the reason. An entry stands for the fields below it.
var needless = map[string]string{
	"client config.host":                       "describes the machine",
	"client config.process":                    "the process is gone",
	"client summary.latency.call.count":        "of its mean and maximum: no second witness",
	"client summary.latency.call.max_us":       "likewise; -call-timeout bounds it from above alone",
	"client summary.latency.call.mean_us":      "likewise",
	"client summary.latency.op.count":          "likewise",
	"client summary.latency.op.max_us":         "likewise",
	"client summary.latency.get.count":         "likewise",
	"client summary.latency.put.count":         "likewise",
	"client summary.offered.arrivals":          "a name; the rate is judged",
	"client summary.peers.0.load.calls":        "in no figure",
	"client summary.peers.0.load.gets":         "in no figure; hits are judged",
	"client readings.0.cpu_ns":                 "not known of a process on another machine",
	"client readings.0.ops":                    "0 before the load",
	"client readings.0.took_ns":                "may be 0",
	"client summary.usage.cpu_percent":         "of the machine: no second witness",
	"client summary.usage.memory_bytes":        "likewise",
	"client summary.workers.0.rounds.arrivals": "too many may be due to draw them again",
	"client summary.workers.0.rounds.busy_s":   "judged of closed loops",
	"client summary.workers.0.rounds.calls":    "judged of closed loops",
	"client summary.workers.0.rounds.op_s":     "not known without arrivals",
	"client summary.workers.0.rounds.rounds":   "judged of closed loops",
	"server config.host":                       "describes the machine",
	"server config.process":                    "the process is gone",
	"server heard.start":                       "in no figure; the marks are judged",
	"server readings.0.cpu_ns":                 "not known of a process on another machine",
	"server readings.0.ops":                    "0 before the load",
	"server readings.0.took_ns":                "may be 0",
	"server summary.bytes":                     "the clients' are judged",
	"server summary.bytes_in_window":           "the clients' are judged",
	"server summary.in_window":                 "in no figure; the marks are judged",
	"server summary.window_length_s":           "in no figure; the marks are judged",
	"server summary.window_start":              "in no figure; the marks are judged",
	"server summary.seen.values_before":        "a warm-up that only reads stores no value",
	"server summary.usage":                     "of the machine: no second witness",
	"server summary.verification":              "the clients' is judged",
}

// reasonless reports whether a field, or one above it, is not among needless.
func reasonless(field string) bool {
	for {
		if needless[field] != "" {
			return false
		}
		dot := strings.LastIndex(field, ".")
		if dot < 0 {
			return true
		}
		field = field[:dot]
	}
}

// Every field of a VALID run's records is needed: without it the run is INVALID, or the
// field is listed with the reason.
func TestDroppedFields(t *testing.T) {
	for loop, change := range map[string]func(*judged){"closed": func(*judged) {}, "open": openLoop} {
		run := witnessed()
		change(run)
		if v := run.witnesses(); !v.Valid {
			t.Fatalf("%s loop: %s", loop, v)
		}
		for i := range run.Nodes {
			for _, path := range pathsOf("", jsonOf(t, witnessedNode(change, i))) {
				again := witnessed()
				change(again)
				drop(t, &again.Nodes[i], path)
				if field := fmt.Sprint(run.Nodes[i].Role, " ", path); again.witnesses().Valid && reasonless(field) {
					t.Errorf("%s loop: VALID without %s", loop, field)
				}
			}
		}
	}
}

func witnessedNode(change func(*judged), i int) metrics.RunNode {
	run := witnessed()
	change(run)
	return run.Nodes[i]
}

func jsonOf(t *testing.T, value any) (tree any) {
	t.Helper()
	text, err := json.Marshal(value)
	if err == nil {
		err = json.Unmarshal(text, &tree)
	}
	if err != nil {
		t.Fatal(err)
	}
	return tree
}

// pathsOf returns the paths of the fields of a JSON value that say something. Of a list, the
// first element stands for all.
func pathsOf(path string, value any) (all []string) {
	switch v := value.(type) {
	case map[string]any:
		for _, name := range slices.Sorted(maps.Keys(v)) {
			at := strings.TrimPrefix(path+"."+name, ".")
			if v[name] != nil && v[name] != 0. && v[name] != "" && v[name] != false {
				all = append(append(all, at), pathsOf(at, v[name])...)
			}
		}
	case []any:
		if len(v) > 0 {
			all = pathsOf(path+".0", v[0])
		}
	}
	return all
}

// drop takes a field out of a node's record.
func drop(t *testing.T, node *metrics.RunNode, path string) {
	t.Helper()
	tree := jsonOf(t, node)
	names := strings.Split(path, ".")
	at := tree
	for _, name := range names[:len(names)-1] {
		switch v := at.(type) {
		case map[string]any:
			at = v[name]
		case []any:
			at = v[0]
		}
	}
	delete(at.(map[string]any), names[len(names)-1])
	text, err := json.Marshal(tree)
	if err != nil {
		t.Fatal(err)
	}
	*node = metrics.RunNode{}
	if err := json.Unmarshal(text, node); err != nil {
		t.Fatal(err)
	}
}
