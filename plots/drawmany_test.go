package plots

import (
	"bytes"
	"fmt"
	"image/png"
	"os"
	"path/filepath"
	"testing"

	"kvlab/internal/foldertest"
	"kvlab/metrics"
)

func TestDrawWritesEveryFigure(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "small")
	foldertest.WriteFolder(t, dir, foldertest.MakeRun(t, foldertest.Gallery["small"]))
	files, err := Pages(nil).Draw(dir)
	if err != nil {
		t.Fatal(err)
	}
	if want := 2*5 + 1; len(files) != want {
		t.Errorf("Draw wrote %d files, want %d: %v", len(files), want, files)
	}
	for _, name := range []string{"throughput", "latency", "cpu", "memory", "network"} {
		checkPNG(t, filepath.Join(dir, name+".png"))
		checkPDF(t, filepath.Join(dir, name+".pdf"))
	}
	checkXML(t, filepath.Join(dir, "report.html"))
}

// checkXML wants a file with a well-formed document.
func checkXML(t *testing.T, file string) {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	foldertest.CheckXML(t, file, text)
}

// checkPDF wants a document of one page with its font in it.
func checkPDF(t *testing.T, file string) {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	page, font := bytes.Count(text, []byte("/Type /Page\n")), bytes.Contains(text, []byte("/FontFile2 "))
	if !bytes.HasPrefix(text, []byte("%PDF-")) || !bytes.HasSuffix(bytes.TrimSpace(text), []byte("%%EOF")) || page != 1 || !font {
		t.Errorf("%s of %d bytes has %d pages, fonts: %t", file, len(text), page, font)
	}
}

// checkPNG wants a picture of 1600 x 900 pixels with many that are not white.
func checkPNG(t *testing.T, file string) {
	t.Helper()
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	picture, err := png.Decode(f)
	if err != nil {
		t.Fatalf("decode %s: %v", file, err)
	}
	size := picture.Bounds().Size()
	if size.X != 1600 || size.Y != 900 {
		t.Errorf("%s is %v, want 1600 x 900", file, size)
	}
	inked := 0
	for y := 0; y < size.Y; y += 2 {
		for x := 0; x < size.X; x += 2 {
			if r, g, b, _ := picture.At(x, y).RGBA(); min(r, g, b) < 0xA000 {
				inked++
			}
		}
	}
	if inked < 1000 {
		t.Errorf("%s is nearly blank: %d dark pixels of %d", file, inked, size.X*size.Y/4)
	}
}

func TestDrawMany(t *testing.T) {
	root := t.TempDir()
	var dirs []string
	for i, nodes := range []int{2, 4, 8, 16} {
		for trial := range 3 {
			p := foldertest.Plan{
				ID: fmt.Sprintf("run%d-%d", nodes, trial), Servers: nodes / 2, Clients: nodes / 2, WindowS: 3, Verdict: foldertest.Valid,
				ClientOpsPerS: 3.2e6 * (1 - 0.07*float64(i)) * (1 + 0.05*float64(trial)), Seed: uint64(10*i + trial),
			}
			if nodes == 8 && trial == 2 {
				p.Verdict = metrics.Verdict{Reason: "misses in the window", Node: "node5"}
			}
			dir := filepath.Join(root, "scaling", p.ID)
			foldertest.WriteFolder(t, dir, foldertest.MakeRun(t, p))
			dirs = append(dirs, dir)
		}
	}
	latest := filepath.Join(root, "scaling", "latest")
	_ = os.Remove(latest)
	if err := os.Symlink("run16-2", latest); err != nil {
		t.Fatal(err)
	}
	d, err := Pages(nil).Load(append(dirs, latest)...)
	if err != nil {
		t.Fatal(err)
	}
	if files, err := d.Write(root); len(files) != 2 || err != nil {
		t.Errorf("%v were written, %v: want two files", files, err)
	}
	if len(d.Notes) != 1 || d.Notes[0] != "left out run8-2: INVALID(misses in the window, node5)" {
		t.Errorf("notes %q, want run8-2 left out with its reason", d.Notes)
	}
	checkPNG(t, filepath.Join(root, "throughput_scaling.png"))
}
