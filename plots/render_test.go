package plots

import (
	"bytes"
	"encoding/xml"
	"errors"
	"flag"
	"fmt"
	"image/png"
	"io"
	"os"
	"path/filepath"
	"testing"

	"kvlab/metrics"
)

var keep = flag.String("keep", "", "leave the made-up runs and their pictures in this `folder`, to look at")

// gallery are runs of the shapes that people draw.
var gallery = map[string]plan{
	"small":   {id: "20261121-153000", servers: 1, clients: 1, windowS: 5, clientOpsPerS: 4.8e6, verdict: valid, seed: 1},
	"cluster": {id: "20261121-154000", servers: 4, clients: 4, windowS: 30, clientOpsPerS: 3.1e6, verdict: valid, seed: 2},
	"big":     {id: "20261121-155000", servers: 8, clients: 8, windowS: 30, clientOpsPerS: 3.1e6, verdict: valid, seed: 3},
	"invalid": {id: "20261121-160000", servers: 2, clients: 2, windowS: 10, clientOpsPerS: 2.2e6, seed: 4,
		verdict: metrics.Verdict{Reason: "client ok-ops 66,120,704 differ from server applied ops 66,112,512", Node: "node1"}},
	"crowd": {id: "20261121-161000", servers: 40, clients: 40, windowS: 10, clientOpsPerS: 2e5, verdict: valid, seed: 5,
		nodeName: func(i int) string { return fmt.Sprintf("node%d.kv.lab-PG0.utah.cloudlab.us", i) }},
}

// folder is where a test leaves its pictures.
func folder(t *testing.T) string {
	t.Helper()
	if *keep != "" {
		return *keep
	}
	return t.TempDir()
}

func TestDrawWritesEveryFigure(t *testing.T) {
	for name, p := range gallery {
		if name != "small" && *keep == "" {
			continue // one run's PNGs are slow enough under the race detector
		}
		dir := filepath.Join(folder(t), name)
		writeFolder(t, dir, makeRun(t, p))
		files, err := Draw(dir)
		if err != nil {
			t.Fatal(err)
		}
		if want := 2*5 + 1; len(files) != want {
			t.Errorf("Draw wrote %d files, want %d: %v", len(files), want, files)
		}
		for _, name := range []string{"throughput", "latency", "cpu", "memory", "network"} {
			checkPNG(t, filepath.Join(dir, name+".png"))
			checkXML(t, name+".svg", read(t, filepath.Join(dir, name+".svg")))
		}
		checkXML(t, "report.html", read(t, filepath.Join(dir, "report.html")))
	}
}

func TestFiguresOfEveryShape(t *testing.T) {
	for name, p := range gallery {
		t.Run(name, func(t *testing.T) {
			r := load(t, makeRun(t, p))
			for _, f := range Figures(r) {
				svg, err := f.SVG()
				if err != nil {
					t.Fatal(err)
				}
				checkXML(t, f.Name+".svg", svg)
				if got := bytes.Contains(svg, []byte(">INVALID: ")); got == r.Verdict.Valid {
					t.Errorf("%s.svg says INVALID: %v, the verdict is %s", f.Name, got, r.Verdict)
				}
			}
		})
	}
}

// read returns a file's content.
func read(t *testing.T, file string) []byte {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return text
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

// checkXML wants a well-formed document.
func checkXML(t *testing.T, name string, text []byte) {
	t.Helper()
	for d := xml.NewDecoder(bytes.NewReader(text)); ; {
		_, err := d.Token()
		if errors.Is(err, io.EOF) {
			return
		}
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
	}
}

func TestDrawMany(t *testing.T) {
	root := folder(t)
	var dirs []string
	for i, nodes := range []int{2, 4, 8, 16} {
		for trial := range 3 {
			p := plan{
				id: fmt.Sprintf("run%d-%d", nodes, trial), servers: nodes / 2, clients: nodes / 2, windowS: 3, verdict: valid,
				clientOpsPerS: 3.2e6 * (1 - 0.07*float64(i)) * (1 + 0.05*float64(trial)), seed: uint64(10*i + trial),
			}
			if nodes == 8 && trial == 2 {
				p.verdict = metrics.Verdict{Reason: "misses in the window", Node: "node5"}
			}
			dir := filepath.Join(root, "scaling", p.id)
			writeFolder(t, dir, makeRun(t, p))
			dirs = append(dirs, dir)
		}
	}
	latest := filepath.Join(root, "scaling", "latest")
	_ = os.Remove(latest)
	if err := os.Symlink("run16-2", latest); err != nil {
		t.Fatal(err)
	}
	files, leftOut, err := DrawMany(append(dirs, latest), root)
	if err != nil {
		t.Fatal(err)
	}
	if len(files) != 2 {
		t.Errorf("DrawMany wrote %v, want two files", files)
	}
	if len(leftOut) != 1 || leftOut[0] != "run8-2: INVALID(misses in the window, node5)" {
		t.Errorf("left out %q, want run8-2 with its reason", leftOut)
	}
	checkPNG(t, filepath.Join(root, "throughput_scaling.png"))
	checkXML(t, "throughput_scaling.svg", read(t, filepath.Join(root, "throughput_scaling.svg")))
}
