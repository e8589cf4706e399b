package report

import (
	"html"
	"slices"
	"strings"
	"testing"

	"kvlab/internal/foldertest"
	"kvlab/plots/folder"
)

// The page of a study answers with its outcomes. Its table has every claim, with a link to
// the figure of each that was tested.
func TestStudyReport(t *testing.T) {
	s, err := folder.LoadSweep(foldertest.MakeStudy(t, t.TempDir()))
	if err != nil {
		t.Fatal(err)
	}
	page, err := SweepReport(s)
	if err != nil {
		t.Fatal(err)
	}
	foldertest.CheckXML(t, "report.html", page)
	wantNoScripts(t, page)
	parts := outline(t, page)
	if got, want := strings.Join(parts[:5], " "), "verdict headline basis tiles claims"; got != want {
		t.Errorf("the order is %s, want %s", got, want)
	}
	text := html.UnescapeString(string(page))
	wants := []string{`<p class="headline">3 reproduced, 2 contradicted, 3 cannot tell</p>`, `id="claims.json"`, "at most 2 x the first", "not built: it would be large"}
	for _, r := range s.Claims {
		wants = append(wants, "<td class=\"name\">"+r.Claim.Text+" ", r.Claim.Source, string(r.Outcome), string(sentence(r.Reason)))
		figure := "claim_made-up_" + r.Claim.Name
		tested := r.Claim.Cannot == ""
		if tested {
			wants = append(wants, `<a href="#figure-`+figure+`">`+string(r.Outcome)+"</a>")
		}
		if slices.Contains(parts, "figure-"+figure) != tested {
			t.Errorf("%s: a figure is there: %v, want %v", r.Claim.Name, !tested, tested)
		}
	}
	for _, want := range wants {
		if !strings.Contains(text, want) {
			t.Errorf("the page lacks %q", want)
		}
	}
}
