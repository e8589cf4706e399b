package pages

import (
	"errors"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"kvlab/internal/browsertest"
	"kvlab/internal/foldertest"
)

var keep = flag.String("keep", "", "`folder` that gets pictures of the pages")

// looks is what a page looks like.
type looks struct {
	ScrollWidth, ClientWidth, Height float64
	Background, Ink                  [3]float64
	Out                              []string // elements that stand out of the page, or of their cell
	Marks                            int      // bars and dots of the common scale
	Unseen                           []string // those that are outside of their cell, or have the page's colour
}

const look = `(function () {
  const rgb = c => c.match(/[\d.]+/g).slice(0, 3).map(Number), root = document.documentElement;
  const paper = matchMedia("print").matches, page = getComputedStyle(document.body).backgroundColor;
  const marks = [...document.querySelectorAll(".board circle, .board rect, .board line.bar")];
  const inside = (e, cell) => { const a = e.getBoundingClientRect(), b = cell.getBoundingClientRect(); return a.left >= b.left - 1 && a.right <= b.right + 1 && a.top >= b.top - 1 && a.bottom <= b.bottom + 1; };
  return {
    ScrollWidth: root.scrollWidth, ClientWidth: root.clientWidth, Height: root.scrollHeight,
    Background: rgb(page), Ink: rgb(getComputedStyle(document.body).color),
    Out: [...document.querySelectorAll("body *")].filter(e => ((paper || !e.closest(".scroll, pre")) && e.getBoundingClientRect().right > root.clientWidth + 1) || (e.closest(".board td, .board th") && e.scrollWidth > e.clientWidth + 1 && e.clientWidth > 0)
      || (e.matches(".board") && e.parentElement.scrollWidth > e.parentElement.clientWidth)).map(e => e.tagName + " " + e.textContent.slice(0, 60)),
    Marks: marks.length,
    Unseen: marks.filter(e => !inside(e, e.closest("td")) || getComputedStyle(e)[e.matches("line") ? "stroke" : "fill"] === page).map(e => e.outerHTML),
  };
})()`

// The pages are read in a real browser at a desk, on a phone, in the dark and on paper: they
// complain of nothing, ask for nothing, and nothing on them is cut off.
func TestPagesInABrowser(t *testing.T) {
	b := browsertest.Start(t)
	long := append([]string{}, names...)
	long[3], long[5] = "the-team-with-a-very-long-name-indeed-ab", `<script>alert(1)</script>`
	s := load(t, foldertest.ClassPlan{Names: long, Rounds: 10, Ended: ended, Seed: 9})
	files, dir := filesOf(t, s), t.TempDir()
	for title, name := range map[string]string{"leaderboard": "leaderboard.html", "entry": "entries/birch/report.html", "invalid": "entries/laurel/report.html", "broken": "entries/maple/report.html"} {
		file := filepath.Join(dir, title+".html")
		if err := os.WriteFile(file, []byte(files[name]), 0o644); err != nil {
			t.Fatal(err)
		}
		for _, v := range browsertest.Views {
			b.OpenFile(file, v)
			var page looks
			b.Eval(look, &page)
			at := title + " as " + v.Name
			for _, complaint := range b.Complaints() {
				t.Errorf("%s: %s", at, complaint)
			}
			if page.ScrollWidth > page.ClientWidth || len(page.Out) > 0 {
				t.Errorf("%s is %.0f pixels wide, scrolls to %.0f, and %q stand out", at, page.ClientWidth, page.ScrollWidth, page.Out)
			}
			if want := 2*(len(long)-3) + 1; title == "leaderboard" && (page.Marks != want || len(page.Unseen) > 0) {
				t.Errorf("%s has %d bars and dots, want %d; not seen: %q", at, page.Marks, want, page.Unseen)
			}
			bright := func(rgb [3]float64) float64 { return 0.299*rgb[0] + 0.587*rgb[1] + 0.114*rgb[2] }
			if dark := v.Scheme == "dark"; dark != (bright(page.Background) < 60) || dark != (bright(page.Ink) > 150) {
				t.Errorf("%s writes %v on %v", at, page.Ink, page.Background)
			}
			if *keep != "" {
				picture := b.Picture(0, 0, float64(v.Width), min(page.Height, 3000), 1)
				err := errors.Join(os.MkdirAll(*keep, 0o755), os.WriteFile(filepath.Join(*keep, strings.ReplaceAll(at, " as ", "-")+".png"), picture, 0o644))
				if err != nil {
					t.Fatal(err)
				}
			}
		}
	}
}
