package serve

import (
	"bytes"
	"errors"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"kvlab/internal/foldertest"
	"kvlab/metrics"
	"kvlab/plots/table"
)

var (
	omType   = regexp.MustCompile(`^# TYPE ([a-zA-Z_][a-zA-Z0-9_]*) (gauge|info)$`)
	omSample = regexp.MustCompile(`^([a-zA-Z_][a-zA-Z0-9_]*)(\{(?:[a-zA-Z_][a-zA-Z0-9_]*="(?:[^"\\\n]|\\["\\n])*",?)*\}) (\S+)(?: (\S+))?$`)
)

// samplesOf reads OpenMetrics text by the rules of the specification (OpenMetrics 1.0.0,
// "Overall Structure" and "Metric Types"): every sample belongs to the family before it, a
// family and a set of labels stand in one place, moments rise, and EOF ends it. It also asks
// python's prometheus_client, if there is one, and returns the names of the samples.
func samplesOf(t *testing.T, text string) (names []string) {
	t.Helper()
	body, ended := strings.CutSuffix(text, "# EOF\n")
	if !ended {
		t.Fatalf("no EOF at the end of %q", text[max(0, len(text)-100):])
	}
	families, metrics := map[string]bool{}, map[string]bool{}
	family, suffix, metric, before := "", "", "", 0.0
	for line := range strings.Lines(body) {
		line = strings.TrimSuffix(line, "\n")
		if m := omType.FindStringSubmatch(line); m != nil {
			if family, suffix, metric = m[1], strings.TrimPrefix("_"+m[2], "_gauge"), ""; families[family] {
				t.Errorf("a second family %s", family)
			}
			families[family] = true
			continue
		}
		m := omSample.FindStringSubmatch(line)
		if m == nil || m[1] != family+suffix {
			t.Errorf("no sample of %s: %s", family, line)
			continue
		}
		time := 0.0
		if _, err := strconv.ParseFloat(m[3], 64); err != nil {
			t.Errorf("%s: %v", line, err)
		}
		if m[4] != "" {
			var err error
			if time, err = strconv.ParseFloat(m[4], 64); err != nil {
				t.Errorf("%s: %v", line, err)
			}
		}
		key := m[1] + m[2]
		switch {
		case key != metric && metrics[key]:
			t.Errorf("the samples of %s stand in two places", key)
		case key == metric && time <= before:
			t.Errorf("%s at %v, after %v", key, time, before)
		}
		metric, metrics[key], before = key, true, time
		names = append(names, m[1])
	}
	python := exec.Command("python3", "-c", "import sys\ntry:\n  from prometheus_client.openmetrics.parser import text_string_to_metric_families as read\nexcept ImportError:\n  sys.exit()\nprint(len(list(read(sys.stdin.read()))))")
	python.Stdin = strings.NewReader(text)
	if out, err := python.CombinedOutput(); err != nil && !errors.Is(err, exec.ErrNotFound) {
		t.Errorf("prometheus_client: %v\n%s", err, out)
	}
	return names
}

func TestMetrics(t *testing.T) {
	logs, server := served(t)
	answer, text := ask(t, server, "GET", "/metrics", "localhost")
	if kind := answer.Header.Get("Content-Type"); answer.StatusCode != 200 || kind != "application/openmetrics-text; version=1.0.0; charset=utf-8" {
		t.Fatalf("%s, %s\n%s", answer.Status, kind, text)
	}
	for _, want := range []string{"kvlab_run_ops_per_s", "kvlab_run_verdict_valid", "kvlab_second_ops_per_s", "kvlab_second_cpu_percent"} {
		if !slices.Contains(samplesOf(t, text), want) {
			t.Errorf("no sample of %s", want)
		}
	}
	if want := "\nkvlab_run_verdict_valid{run=\"20261121-153000-main\"} 1\n"; !strings.Contains(text, want) {
		t.Errorf("no %q", want)
	}
	if n := strings.Count(text, "\nkvlab_second_ops_per_s{"); n != 2 {
		t.Errorf("%d seconds of two nodes", n)
	}
	// A run under way has the values of its last second, and no result.
	begin(t, logs, "20261121-160000")
	if names := samplesOf(t, get(t, server, "/metrics")); len(names) > 0 {
		t.Errorf("a run that has begun nothing has %q", names)
	}
	grow(t, filepath.Join(logs, "20261121-160000"), foldertest.MakeRun(t, foldertest.Gallery["small"]), 12)
	text = get(t, server, "/metrics")
	if names := samplesOf(t, text); slices.Contains(names, "kvlab_run_ops_per_s") || !slices.Contains(names, "kvlab_second_ops_per_s") {
		t.Errorf("a run under way has %q", names)
	}
	if strings.Contains(text, `run="20261121-153000-main"`) {
		t.Error("values of the run before")
	}
}

// Words with the characters that the format escapes come through.
func TestOpenMetricsEscapes(t *testing.T) {
	var result table.Table
	result.Add("", metrics.Run{ID: "a\"b\\c\nd", Workload: metrics.Settings{"value-size": "128"}})
	var text bytes.Buffer
	if err := writeOpenMetrics(&text, result, table.Table{}); err != nil {
		t.Fatal(err)
	}
	samplesOf(t, text.String())
	if want := `kvlab_run_info{run="a\"b\\c\nd",workload_value_size="128"} 1`; !strings.Contains(text.String(), want+"\n") {
		t.Errorf("no %s in\n%s", want, text.String())
	}
}
