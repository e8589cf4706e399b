package report

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"html/template"
	"image/png"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"kvlab/internal/browsertest"
	"kvlab/internal/foldertest"
	"kvlab/metrics"
	"kvlab/plots/folder"
)

// browser is a browser that looks at reports.
type browser struct {
	*browsertest.Browser
	t *testing.T
}

func startBrowser(t *testing.T) *browser { return &browser{browsertest.Start(t), t} }

var keep = flag.String("keep", "", "`folder` that gets pictures of the pages and of the terminal's texts")

// keep writes a picture of the top of the page to the folder of -keep, and fails if there is
// nothing to see.
func (b *browser) keep(name string, v browsertest.View, height int) {
	b.t.Helper()
	if *keep == "" {
		return
	}
	picture := b.Picture(0, 0, float64(v.Width), float64(height), 1)
	err := os.MkdirAll(*keep, 0o755)
	if err := errors.Join(err, os.WriteFile(filepath.Join(*keep, name+".png"), picture, 0o644)); err != nil {
		b.t.Fatal(err)
	}
}

// What the terminal says of a result fits into 80 columns of a real font.
func TestTerminalInABrowser(t *testing.T) {
	b := startBrowser(t)
	files, err := filepath.Glob("../../kvs/cluster/testdata/answer-*.txt")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		text = text[:bytes.LastIndex(text, []byte("\nverdict "))] // which may be longer
		name := strings.TrimSuffix(filepath.Base(file), ".txt")
		page := filepath.Join(t.TempDir(), name+".html")
		html := `<!DOCTYPE html><meta charset="utf-8"><body style="margin:1em;background:#111;color:#ddd"><pre style="width:80ch;font:14px monospace">` + template.HTMLEscapeString(string(text)) + "</pre>"
		if err := os.WriteFile(page, []byte(html), 0o644); err != nil {
			t.Fatal(err)
		}
		v := browsertest.View{Name: "terminal", Width: 800, Scheme: "dark", Media: "screen"}
		b.OpenFile(page, v)
		var over int
		b.Eval(`(function () { const p = document.querySelector("pre"); return p.scrollWidth - p.clientWidth })()`, &over)
		if over > 0 {
			t.Errorf("%s is %d pixels wider than 80 columns", name, over)
		}
		b.keep(name, v, 420)
	}
}

// views are those of every page.
var views = browsertest.Views

// makeTrials makes up a set of trials whose folders are whole, and returns its
// folder.
func makeTrials(t *testing.T, root string) string {
	t.Helper()
	dir := foldertest.MakeSweep(t, root, foldertest.SweepPlan{ID: "trials", Trials: 6, Law: foldertest.Law{4e6, 0, 0}, Seed: 21})
	sweep, trials, err := metrics.ReadSweep(dir)
	if err != nil {
		t.Fatal(err)
	}
	for i, trial := range trials {
		p := foldertest.Plan{ID: "trials/" + trial.Folder, Servers: 2, Clients: 2, WindowS: 5, ClientOpsPerS: 2e6 * (1 + 0.02*float64(i)), Verdict: trial.Verdict, Seed: uint64(30 + i)}
		foldertest.WriteFolder(t, filepath.Join(dir, trial.Folder), foldertest.MakeRun(t, p))
		trials[i] = metrics.TrialOf(sweep.Order[i], trial.Folder, readRunJSON(t, filepath.Join(dir, trial.Folder)))
	}
	foldertest.WriteJSON(t, filepath.Join(dir, metrics.TrialsFile), trials)
	return dir
}

// readRunJSON returns a folder's run.json.
func readRunJSON(t *testing.T, dir string) (run metrics.Run) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(dir, "run.json"))
	if err := errors.Join(err, json.Unmarshal(text, &run)); err != nil {
		t.Fatal(err)
	}
	return run
}

// reports writes pages of each kind below root, and returns their files with the
// number of figures that each is to have.
func reports(t *testing.T, root string) map[string]int {
	t.Helper()
	if err := os.MkdirAll(root, 0o755); err != nil {
		t.Fatal(err)
	}
	files := map[string]int{}
	write := func(name string, figures int, page []byte, err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		file := filepath.Join(root, "report-"+name+".html")
		if err := os.WriteFile(file, page, 0o644); err != nil {
			t.Fatal(err)
		}
		files[file] = figures
	}
	harsh := foldertest.Gallery["invalid"]
	harsh.NodeName = "%d" + hostile
	for name, p := range map[string]foldertest.Plan{"run": foldertest.Gallery["cluster"], "invalid": harsh, "crowd": foldertest.Gallery["crowd"]} {
		r := loadMade(t, foldertest.MakeRun(t, p))
		if name == "run" {
			limited(r)
		}
		page, err := Report(r)
		write(name, 5, page, err)
	}
	for name, dir := range map[string]string{"trials": makeTrials(t, root), "sweep": foldertest.MakeSweep(t, root, foldertest.Sweeps[3]), "ab": foldertest.MakeSweep(t, root, foldertest.Sides(8, 1.1)),
		"study": foldertest.MakeStudy(t, root), "curve": foldertest.MakeCurve(t, root, "curve", 1e6, "p99=20us", map[string]string{"engine": "slab", "records": "1000", "workload": "YCSB-B"})} {
		s, err := folder.LoadSweep(dir)
		if err != nil {
			t.Fatal(err)
		}
		page, err := SweepReport(s)
		write(name, map[string]int{"trials": 6, "sweep": 2, "ab": 1, "curve": 1, "study": 7}[name], page, err)
	}
	return files
}

// limited gives a run what says why it was no faster.
func limited(r *folder.Run) {
	r.Ceiling = metrics.Ceiling{NullOpsPerS: 2.5 * r.OpsPerS, InprocOpsPerS: 3 * r.OpsPerS}.Over(r.OpsPerS, false)
	r.Bottleneck = &metrics.Bottleneck{Kind: metrics.LimitServerCPU, Node: "node2", Sentence: "server CPU 97 % on node2; clients 41 %",
		Figures: metrics.BottleneckFigures{ServerCPUPercent: 97, ServerCPUNode: "node2", ClientCPUPercent: 41, ClientCPUNode: "node5", HottestServer: 1.18, HottestNode: "node2", OpMicros: 12100, ServerShare: 0.7, WireShare: 0.3}}
	r.Skew = &metrics.Skew{Law: "-workload YCSB-B -theta 0.99", Router: "fnv", Records: 1000000, TopShare: 0.065, SampledOps: 123456, HitRate: 1,
		Head:     []metrics.HeadShare{{Rank: 1, Share: metrics.Share{Theory: 0.065, Observed: 0.0651}}, {Rank: 2, Share: metrics.Share{Theory: 0.0327, Observed: 0.0325}}},
		Servers:  []metrics.ServerShare{{Server: "node0", Share: metrics.Share{Theory: 0.25, Observed: 0.2501}}},
		Kinds:    []metrics.KindShare{{Kind: "gets", Share: metrics.Share{Theory: 0.95, Observed: 0.9499}}},
		Balances: []metrics.RouterBalance{{Servers: 16, Best: 0.961, FNV: 0.71, Balanced: 0.96}}}
}

// shown is what a page looks like.
type shown struct {
	ScrollWidth, ClientWidth int
	Background, Ink          [3]float64
	Out                      []string // elements that stand out of the page on the right
	Contents                 int      // entries of the table of contents that lead to a section
	Figures                  []struct {
		Name          string
		Left, Top     float64 // in the document
		Width, Height float64 // of what is shown
		LeastText     float64 // height of the smallest letters, in pixels
		Drawn         int     // lines, dots and words
		Tooltips      int
		Words         string
	}
}

const look = `(function () {
  const rgb = c => c.match(/[\d.]+/g).slice(0, 3).map(Number);
  const root = document.documentElement, paper = matchMedia("print").matches;
  const out = [...document.querySelectorAll("body *")].filter(e => (paper || !e.closest(".scroll, pre")) && !e.closest("script") && e.getBoundingClientRect().right > root.clientWidth + 1);
  return {
    ScrollWidth: root.scrollWidth, ClientWidth: root.clientWidth,
    Background: rgb(getComputedStyle(document.body).backgroundColor), Ink: rgb(getComputedStyle(document.body).color),
    Out: out.concat([...document.querySelectorAll("figure")].filter(f => f.scrollWidth > f.clientWidth + 1)).map(e => e.tagName + " " + e.className + " " + e.textContent.slice(0, 60)),
    Contents: [...document.querySelectorAll("nav a")].filter(a => document.querySelector(a.getAttribute("href"))).length,
    Figures: [...document.querySelectorAll("figure")].map(f => {
      const svg = [...f.querySelectorAll("svg")].find(s => getComputedStyle(s).display !== "none"), box = f.getBoundingClientRect(), texts = [...svg.querySelectorAll("text")];
      const scale = svg.getBoundingClientRect().width / svg.viewBox.baseVal.width;
      return { Name: f.id, Left: box.left + scrollX, Top: box.top + scrollY, Width: box.width, Height: box.height, Words: svg.textContent,
        LeastText: Math.min(...texts.map(t => scale * parseFloat(getComputedStyle(t).fontSize))),
        Drawn: svg.querySelectorAll("path, text").length, Tooltips: svg.querySelectorAll("rect > title").length };
    }),
  };
})()`

// A report is read in a real browser: it complains of nothing, asks for nothing,
// shows its figures in a sensible size, never scrolls sideways, and follows the
// reader into the dark and onto paper.
func TestReportInABrowser(t *testing.T) {
	b := startBrowser(t)
	root := t.TempDir()
	for file, figures := range reports(t, root) {
		for _, v := range views {
			b.OpenFile(file, v)
			name := filepath.Base(file) + " as " + v.Name
			var page shown
			b.Eval(look, &page)
			for _, complaint := range b.Complaints() {
				t.Errorf("%s: %s", name, complaint)
			}
			if page.ScrollWidth > page.ClientWidth || len(page.Out) > 0 {
				t.Errorf("%s is %d pixels wide, scrolls to %d, and %q stand out", name, page.ClientWidth, page.ScrollWidth, page.Out)
			}
			if page.Contents < 6 {
				t.Errorf("%s has %d entries in its table of contents", name, page.Contents)
			}
			if dark := v.Scheme == "dark"; dark != (brightness(page.Background) < 60) || dark != (brightness(page.Ink) > 150) {
				t.Errorf("%s writes %v on %v", name, page.Ink, page.Background)
			}
			b.checkFigures(name, page, figures, v)
			b.keep(strings.TrimSuffix(filepath.Base(file), ".html")+"-"+v.Name, v, 1500)
		}
	}
}

// invalidBanner matches the words of a figure whose title, of one or two lines, an INVALID verdict follows.
var invalidBanner = regexp.MustCompile(`^\s*[^\n]+\n([^\n]+\n)?INVALID\(`)

// checkFigures wants figures of sensible size, with text that can be read, in the
// colours of the view.
func (b *browser) checkFigures(name string, page shown, want int, v browsertest.View) {
	b.t.Helper()
	if len(page.Figures) != want {
		b.t.Errorf("%s has %d figures, want %d", name, len(page.Figures), want)
	}
	const paper = 1009 // pixels of 267 mm
	for i, f := range page.Figures {
		least := 9.0
		if v.Media == "print" {
			least = 8
		}
		switch {
		case f.Width < 0.8*float64(min(v.Width, 1000))-60 || f.Height < 200 || f.Height > paper:
			b.t.Errorf("%s, %s is %.0f x %.0f pixels", name, f.Name, f.Width, f.Height)
		case f.LeastText < least:
			b.t.Errorf("%s, %s has letters of %.1f pixels", name, f.Name, f.LeastText)
		case f.Drawn < 10 || f.Tooltips < 1:
			b.t.Errorf("%s, %s has %d lines, dots and words, and %d tooltips", name, f.Name, f.Drawn, f.Tooltips)
		case strings.Contains(name, "invalid") != invalidBanner.MatchString(f.Words):
			b.t.Errorf("%s, %s says %.300q", name, f.Name, f.Words)
		}
		if v.Media == "print" || i > 0 { // one picture of a page is enough, and slow
			continue
		}
		mean, contrast := b.pixels(f.Left, f.Top, f.Width, f.Height)
		if dark := v.Scheme == "dark"; dark != (mean < 80) || dark == (mean > 200) || contrast < 100 {
			b.t.Errorf("%s, %s has a mean brightness of %.0f, and %.0f between its darkest and lightest pixels", name, f.Name, mean, contrast)
		}
	}
}

// pixels returns the mean brightness of a part of the page, and the difference
// between its lightest and darkest pixels.
func (b *browser) pixels(left, top, width, height float64) (mean, contrast float64) {
	b.t.Helper()
	image, err := png.Decode(bytes.NewReader(b.Picture(left, top, width, height, 0.5)))
	if err != nil {
		b.t.Fatal(err)
	}
	low, high, n := 255.0, 0.0, 0.0
	for y := range image.Bounds().Dy() {
		for x := range image.Bounds().Dx() {
			red, green, blue, _ := image.At(x, y).RGBA()
			bright := brightness([3]float64{float64(red >> 8), float64(green >> 8), float64(blue >> 8)})
			mean, n = mean+bright, n+1
			low, high = min(low, bright), max(high, bright)
		}
	}
	return mean / n, high - low
}

// brightness returns a colour's luma, 0 to 255 (ITU-R BT.601).
func brightness(rgb [3]float64) float64 { return 0.299*rgb[0] + 0.587*rgb[1] + 0.114*rgb[2] }

// Values are read off a figure with the mouse: what it points at has a tooltip.
func TestReportAnswersItsReader(t *testing.T) {
	b := startBrowser(t)
	r := loadMade(t, foldertest.MakeRun(t, foldertest.Gallery["cluster"]))
	page, err := Report(r)
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "report.html")
	if err := os.WriteFile(file, page, 0o644); err != nil {
		t.Fatal(err)
	}
	for _, v := range views[:2] {
		b.OpenFile(file, v)
		tooltip := func(share float64) (words string) {
			b.Eval(fmt.Sprintf(`(function () { const f = document.querySelector("#figure-throughput"); f.scrollIntoView({ block: "center" });
				const box = f.getBoundingClientRect(); return document.elementFromPoint(box.left + box.width * %g, box.top + box.height / 2).textContent; })()`, share), &words)
			return words
		}
		first, second := tooltip(0.5), tooltip(0.8)
		if !strings.Contains(first, " s\n") || !strings.Contains(first, "all clients: ") || !strings.Contains(first, "node4: ") || !strings.Contains(first, " ops/s") {
			t.Errorf("%s: pointing at the throughput says %q", v.Name, first)
		}
		if first == second {
			t.Errorf("%s: two places say %q", v.Name, first)
		}
	}
}

// The test above would see a page that complains, asks for something and scrolls.
func TestBrowserSeesABadPage(t *testing.T) {
	b := startBrowser(t)
	file := filepath.Join(t.TempDir(), "bad.html")
	const bad = `<!DOCTYPE html><title>x</title><img src="http://127.0.0.1:9/x.png"><div style="width:2000px">x</div><script>console.error("x"); nothing.at.all</script>`
	if err := os.WriteFile(file, []byte(bad), 0o644); err != nil {
		t.Fatal(err)
	}
	b.OpenFile(file, views[1])
	var page shown
	b.Eval(look, &page)
	all := strings.Join(b.Complaints(), "\n")
	for _, want := range []string{"Runtime.consoleAPICalled", "Runtime.exceptionThrown", "request for http://127.0.0.1:9/x.png"} {
		if !strings.Contains(all, want) {
			t.Errorf("complaints %s, want %s", all, want)
		}
	}
	if len(page.Out) == 0 {
		t.Error("the look does not see that the page is too wide")
	}
}
