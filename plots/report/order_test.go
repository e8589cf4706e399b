package report

import (
	"bytes"
	"encoding/xml"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"

	"kvlab/internal/foldertest"
	"kvlab/kvs/verdict/answer"
	"kvlab/metrics"
	"kvlab/metrics/stats"
	"kvlab/plots/folder"
)

// outline names the parts of a page in their order: classes of the answer's parts, figures
// and sections by their ids.
func outline(t *testing.T, page []byte) (parts []string) {
	t.Helper()
	for d := xml.NewDecoder(bytes.NewReader(page)); ; {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			return parts
		}
		if err != nil {
			t.Fatal(err)
		}
		start, ok := token.(xml.StartElement)
		if !ok {
			continue
		}
		for _, a := range start.Attr {
			class, _, _ := strings.Cut(a.Value, " ")
			switch {
			case a.Name.Local == "id" && (start.Name.Local == "section" || start.Name.Local == "figure"),
				a.Name.Local == "class" && slices.Contains([]string{"verdict", "headline", "reason", "basis", "tiles", "caveats"}, class):
				parts = append(parts, class)
			}
		}
	}
}

// A page answers first: the verdict, the headline, the main figure, three tiles and the
// caveats. Then come what limits the result, latency and usage, and in the end the
// method and the counts. A result that is INVALID has no large number.
func TestReportOrder(t *testing.T) {
	invalid := foldertest.Gallery["invalid"]
	for name, test := range map[string]struct {
		plan foldertest.Plan
		want string
	}{
		"valid":   {foldertest.Gallery["cluster"], "verdict headline basis figure-throughput tiles caveats bottleneck ceiling latency figure-latency usage figure-cpu figure-network figure-memory throughput skew configuration hardware reproduce method raw"},
		"invalid": {invalid, "verdict reason figure-throughput bottleneck ceiling latency figure-latency usage figure-cpu figure-network figure-memory throughput skew configuration hardware reproduce method raw"},
	} {
		r := loadMade(t, foldertest.MakeRun(t, test.plan))
		limited(r)
		r.WarmUp = &stats.Stationarity{Seconds: 5, DriftShare: 0.1}
		page, err := Report(r)
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.Join(outline(t, page), " "); got != test.want {
			t.Errorf("%s: the order is\n%s\nwant\n%s", name, got, test.want)
		}
		if tiles := bytes.Count(page, []byte("<h3>")); name == "valid" && tiles != 3 {
			t.Errorf("%d tiles", tiles)
		}
	}
	for name, plan := range map[string]foldertest.SweepPlan{
		"from 2 to 8 nodes": {ID: "scaling", Knobs: []metrics.Knob{foldertest.Knob("nodes", "2", "4", "8")}, Trials: 6, Law: foldertest.Law{4e6, 0.05, 0.001}, Seed: 3},
		"B is faster, by ":  foldertest.Sides(8, 1.1),
	} {
		s, err := folder.LoadSweep(foldertest.MakeSweep(t, t.TempDir(), plan))
		if err != nil {
			t.Fatal(err)
		}
		page, err := SweepReport(s)
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.Join(outline(t, page), " "); !strings.HasPrefix(got, "verdict headline basis figure-") || !strings.HasSuffix(got, " method raw") {
			t.Errorf("%s: the order is\n%s", name, got)
		}
		if _, headline, _ := strings.Cut(string(page), `<p class="headline">`); !strings.Contains(headline[:60], name) {
			t.Errorf("the headline is %.60q, want %q in it", headline, name)
		}
	}
}

// The words of the page are those of the answer that the terminal prints.
func TestReportHasTheAnswersWords(t *testing.T) {
	r := loadMade(t, foldertest.MakeRun(t, foldertest.Gallery["cluster"]))
	limited(r)
	r.Ceiling = metrics.Ceiling{NullOpsPerS: 1.2 * r.OpsPerS}.Over(r.OpsPerS, false)
	page, err := Report(r)
	if err != nil {
		t.Fatal(err)
	}
	a := answer.Of(r.Run)
	words := []string{a.Verdict, a.Headline, a.Basis, a.Latency, a.Bytes, a.Limit, a.Checked, a.Next, answer.Rate(r.Run)}
	for _, caveat := range a.Caveats {
		words = append(words, caveat.String())
	}
	for _, text := range words {
		if !bytes.Contains(page, []byte(text)) && !bytes.Contains(page, []byte(sentence(text))) {
			t.Errorf("the page lacks %q", text)
		}
	}
	if len(a.Caveats) == 0 {
		t.Error("the run has no caveat to show")
	}
}
