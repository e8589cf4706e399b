package verdict

import (
	"archive/zip"
	"encoding/json"
	"io"
	"math"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"kvlab/metrics"
)

// Runs whose folders an older version wrote are judged again from what is in
// run.json alone, with the same result.
func TestJudgeOlderRuns(t *testing.T) {
	archive, err := zip.OpenReader(filepath.Join("..", "..", "plots", "chart", "testdata", "before.zip"))
	if err != nil {
		t.Fatal(err)
	}
	defer archive.Close()
	judged := 0
	for _, entry := range archive.File {
		if !strings.HasSuffix(entry.Name, "run.json") {
			continue
		}
		f, err := entry.Open()
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(f)
		f.Close()
		if err != nil {
			t.Fatal(err)
		}
		var before, run metrics.Run
		for _, into := range []*metrics.Run{&before, &run} {
			if err := json.Unmarshal(text, into); err != nil {
				t.Fatalf("%s: %v", entry.Name, err)
			}
		}
		run.Ops, run.OpsPerS, run.Total, run.Applied, run.Offered, run.Retries = 0, 0, metrics.Counts{}, metrics.Counts{}, nil, nil
		if got := Judge(&run); got != before.Verdict {
			t.Errorf("%s: verdict %s, was %s", entry.Name, got, before.Verdict)
		}
		if run.Ops != before.Ops || math.Abs(run.OpsPerS/before.OpsPerS-1) > 1e-9 || run.Total != before.Total || run.Applied != before.Applied || !reflect.DeepEqual(run.Usage, before.Usage) {
			t.Errorf("%s: %d operations, %v a second, was %d and %v", entry.Name, run.Ops, run.OpsPerS, before.Ops, before.OpsPerS)
		}
		if !nearlyEqual(t, run.Skew, before.Skew) {
			t.Errorf("%s: skew %+v, was %+v", entry.Name, run.Skew, before.Skew)
		}
		if got := FindBottleneck(run); before.Verdict.Valid && !nearlyEqual(t, got, before.Bottleneck) {
			t.Errorf("%s: bottleneck %+v, was %+v", entry.Name, got, before.Bottleneck)
		}
		judged++
	}
	if judged < 3 {
		t.Errorf("%d runs in the archive", judged)
	}
}

// nearlyEqual compares two values as JSON, numbers to twelve digits: sums of
// floats are not made in the same order every time.
func nearlyEqual(t *testing.T, a, b any) bool {
	t.Helper()
	var sides [2]any
	for i, v := range []any{a, b} {
		text, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(text, &sides[i]); err != nil {
			t.Fatal(err)
		}
	}
	var near func(a, b any) bool
	near = func(a, b any) bool {
		switch a := a.(type) {
		case float64:
			b, ok := b.(float64)
			return ok && math.Abs(a-b) <= 1e-12*max(math.Abs(a), math.Abs(b))
		case []any:
			b, ok := b.([]any)
			for i := range a {
				ok = ok && len(a) == len(b) && near(a[i], b[i])
			}
			return ok && len(a) == len(b)
		case map[string]any:
			b, ok := b.(map[string]any)
			for k := range a {
				ok = ok && near(a[k], b[k])
			}
			return ok && len(a) == len(b)
		}
		return reflect.DeepEqual(a, b)
	}
	return near(sides[0], sides[1])
}
