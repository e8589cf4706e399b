package serve

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"kvlab/internal/browsertest"
	"kvlab/internal/foldertest"
	"kvlab/plots"
)

var keep = flag.String("keep", "", "`folder` that gets pictures of the pages")

// picture keeps a picture of the top of the page.
func picture(t *testing.T, b *browsertest.Browser, name string, v browsertest.View) {
	t.Helper()
	if *keep == "" {
		return
	}
	if err := os.WriteFile(filepath.Join(*keep, name+"-"+v.Name+".png"), b.Picture(0, 0, float64(v.Width), 1200, 1), 0o644); err != nil {
		t.Fatal(err)
	}
}

// A page in a real browser shows the points of a run while its folder grows, and the report
// when it has ended; it fits a phone, and complains of nothing.
func TestLiveInABrowser(t *testing.T) {
	b := browsertest.Start(t)
	for _, v := range browsertest.Views[:4] {
		logs, server := served(t)
		b.Open(server.URL, v)
		until := func(what, expression string) {
			t.Helper()
			for give := time.Now().Add(2 * time.Minute); ; {
				var holds bool
				if b.Eval(expression, &holds); holds {
					return
				}
				if time.Now().After(give) {
					t.Fatalf("%s: the page does not show %s", v.Name, what)
				}
			}
		}
		until("that no run is under way", `document.querySelector("#state").textContent.startsWith("No run is under way. The last one: 20261121-153000-main")`)
		const id = "20261121-160000"
		dir, files := filepath.Join(logs, id), foldertest.MakeRun(t, foldertest.Gallery["small"])
		begin(t, logs, id)
		until("the preparation", `document.querySelector("#state").textContent.includes("`+id+` is under way: it is being prepared")`)
		until("axes before the first record", `document.querySelectorAll(".charts svg line").length === 10 && document.querySelectorAll(".charts svg text").length === 25 && !document.querySelector(".charts").innerHTML.includes("NaN")`)
		until("the run in the list", `document.querySelector("#runs").textContent.includes("`+id+`under way")`)
		picture(t, b, "first", v)
		for _, lines := range []int{8, 16, 24} {
			grow(t, dir, files, lines)
			until("new points", `[...document.querySelectorAll(".charts polyline")].some(l => l.points.length >= `+map[int]string{8: "3", 16: "7", 24: "11"}[lines]+`)`)
		}
		var wide int
		var words string
		b.Eval(`document.documentElement.scrollWidth - document.documentElement.clientWidth`, &wide)
		var rate float64 // where the list's throughput ends
		b.Eval(`document.querySelector("#runs td:not(:empty).rate").getBoundingClientRect().right`, &rate)
		if rate < 1 || rate > float64(v.Width) {
			t.Errorf("%s: the list shows its throughput at %v pixels of %d", v.Name, rate, v.Width)
		}
		b.Eval(`document.querySelector("#state").textContent + document.querySelector("#keys").textContent`, &words)
		if wide > 0 || !strings.Contains(words, " ops/s") || !strings.Contains(words, "server node0") || !strings.Contains(words, "client node1") {
			t.Errorf("%s: %d pixels too wide, and says %q", v.Name, wide, words)
		}
		picture(t, b, "live", v)
		foldertest.WriteFolder(t, dir, files)
		if _, err := plots.Pages(nil).Draw(dir); err != nil {
			t.Fatal(err)
		}
		until("the report", `document.querySelector("iframe")?.getAttribute("src") === "/`+id+`/report.html"`)
		until("the run in the list", `document.querySelector("#runs").textContent.includes("`+id+`")`)
		picture(t, b, "ended", v)
		for _, complaint := range b.Complaints(server.URL) {
			t.Errorf("%s: %s", v.Name, complaint)
		}
	}
}
