package export

import (
	"bytes"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"kvlab/metrics"
)

var (
	omType   = regexp.MustCompile(`^# TYPE ([a-zA-Z_][a-zA-Z0-9_]*) (gauge|info|histogram)$`)
	omUnit   = regexp.MustCompile(`^# UNIT ([a-zA-Z_][a-zA-Z0-9_]*) (\w+)$`)
	omSample = regexp.MustCompile(`^([a-zA-Z_][a-zA-Z0-9_]*)\{((?:[a-zA-Z_][a-zA-Z0-9_]*="(?:[^"\\\n]|\\["\\n])*",?)*)\} (\S+)(?: (\S+))?$`)
	omLabel  = regexp.MustCompile(`([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\]|\\.)*)"`)
)

// sample is a line of OpenMetrics text.
type sample struct {
	name, labels string
	le           string
	value, time  float64
}

// parse reads OpenMetrics text by the rules of the specification (OpenMetrics 1.0.0,
// "Overall Structure" and "Metric Types"): every sample belongs to the family before it,
// a family and a set of labels stand in one place, moments rise, and EOF ends it.
func parse(t *testing.T, text string) []sample {
	t.Helper()
	lines := strings.Split(text, "\n")
	if n := len(lines); n < 2 || lines[n-1] != "" || lines[n-2] != "# EOF" {
		t.Fatalf("the text does not end with # EOF and a line feed")
	}
	suffixes := map[string][]string{"gauge": {""}, "info": {"_info"}, "histogram": {"_bucket", "_count", "_sum"}}
	families, metrics := map[string]bool{}, map[string]bool{}
	var family, kind, metric string
	var last sample
	var all []sample
	for i, line := range lines[:len(lines)-2] {
		if m := omType.FindStringSubmatch(line); m != nil {
			if family, kind, metric = m[1], m[2], ""; families[family] {
				t.Fatalf("line %d: a second family %s", i+1, family)
			}
			families[family] = true
			continue
		}
		if m := omUnit.FindStringSubmatch(line); m != nil {
			if m[1] != family || !strings.HasSuffix(family, "_"+m[2]) {
				t.Fatalf("line %d: %s", i+1, line)
			}
			continue
		}
		m := omSample.FindStringSubmatch(line)
		if m == nil {
			t.Fatalf("line %d is no sample: %s", i+1, line)
		}
		if suffix, ok := strings.CutPrefix(m[1], family); !ok || !slices.Contains(suffixes[kind], suffix) {
			t.Fatalf("line %d: %s in the family %s of type %s", i+1, m[1], family, kind)
		}
		s := sample{name: m[1]}
		var own []string
		for _, label := range omLabel.FindAllStringSubmatch(m[2], -1) {
			if label[1] == "le" {
				s.le = label[2]
			} else {
				own = append(own, label[0])
			}
		}
		s.labels = strings.Join(own, ",")
		var err error
		if s.value, err = strconv.ParseFloat(m[3], 64); err != nil {
			t.Fatalf("line %d: %v", i+1, err)
		}
		if m[4] != "" {
			if s.time, err = strconv.ParseFloat(m[4], 64); err != nil {
				t.Fatalf("line %d: %v", i+1, err)
			}
		}
		switch key := family + "{" + s.labels; {
		case key != metric && metrics[key]:
			t.Fatalf("line %d: the samples of %s stand in two places", i+1, key)
		case key == metric && kind != "histogram" && s.time <= last.time:
			t.Fatalf("line %d: %s at %v, after %v", i+1, key, s.time, last.time)
		case key == metric && s.le != "" && s.value < last.value:
			t.Fatalf("line %d: a bucket has %v, the one before %v", i+1, s.value, last.value)
		default:
			metric, metrics[key] = key, true
		}
		last, all = s, append(all, s)
	}
	return all
}

// TestOpenMetrics: the text keeps the rules, and its values are those of the tables.
func TestOpenMetrics(t *testing.T) {
	tables, _, _ := exported(t)
	var text bytes.Buffer
	if err := tables.OpenMetrics(&text); err != nil {
		t.Fatal(err)
	}
	samples := parse(t, text.String())
	rates, buckets, counts, gauges := map[string]float64{}, map[string]float64{}, map[string]float64{}, 0
	for _, s := range samples {
		switch {
		case s.name == "kvlab_run_ops_per_s":
			rates[s.labels] = s.value
		case s.name == "kvlab_latency_seconds_bucket" && s.le == "+Inf":
			buckets[s.labels] = s.value
		case s.name == "kvlab_latency_seconds_count":
			counts[s.labels] = s.value
		case strings.HasPrefix(s.name, "kvlab_second_ops") && s.time > 0:
			gauges++
		}
	}
	for _, row := range tables[0].Rows {
		if got := rates[fmt.Sprintf("run=%q", row["id"])]; got != row["ops_per_s"] {
			t.Errorf("run %s has %v ops/s, want %v", row["id"], got, row["ops_per_s"])
		}
	}
	want := map[string]float64{}
	for _, row := range tables[3].Rows {
		want[fmt.Sprintf("run=%q,latency=%q", row["id"], row["latency"])] += float64(row["count"].(int64))
	}
	for labels, count := range want {
		if buckets[labels] != count || counts[labels] != count {
			t.Errorf("{%s}: %v in all buckets, count %v, want %v", labels, buckets[labels], counts[labels], count)
		}
	}
	if len(want) == 0 || len(counts) != len(want) || gauges == 0 {
		t.Errorf("%d histograms, want %d; %d seconds", len(counts), len(want), gauges)
	}
	if !strings.Contains(text.String(), "\nkvlab_run_verdict_valid{run=\"s/trial-002\"} 0\n") {
		t.Error("the INVALID trial is not told")
	}
}

// Words with the characters that the format escapes come through.
func TestOpenMetricsEscapes(t *testing.T) {
	tables := Tables{{Name: Names[0], keys: []string{"id"}}, {Name: Names[1]}, {Name: Names[2]}, {Name: Names[3]}}
	tables[0].row("", metrics.Run{ID: "a\"b\\c\nd", Workload: metrics.FlagValues{"value-size": "128"}})
	var text bytes.Buffer
	if err := tables.OpenMetrics(&text); err != nil {
		t.Fatal(err)
	}
	parse(t, text.String())
	if want := `kvlab_run_info{run="a\"b\\c\nd",workload_value_size="128"} 1`; !strings.Contains(text.String(), want+"\n") {
		t.Errorf("no %s in\n%s", want, text.String())
	}
}
