package markdown

import (
	"bytes"
	"fmt"
	"image/png"
	"math/rand/v2"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"kvlab/internal/foldertest"
	"kvlab/metrics"
	"kvlab/metrics/format"
	"kvlab/plots/command"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/renderer/html"
)

// folders makes up a run folder of each kind, by what their section must say.
func folders(t *testing.T) map[string]string {
	t.Helper()
	dir := t.TempDir()
	all := map[string]string{}
	for name, says := range map[string]string{"small": "VALID", "invalid": "INVALID"} {
		plan := foldertest.Gallery[name]
		plan.ID = "20261128-10000" + fmt.Sprint(len(all))
		path := filepath.Join(dir, plan.ID)
		foldertest.WriteFolder(t, path, foldertest.MakeRun(t, plan))
		all[says] = path
	}
	all["from 2 to 8 nodes"] = foldertest.MakeSweep(t, dir, foldertest.SweepPlan{ID: "scaling", Knobs: []metrics.Knob{foldertest.Knob("nodes", "2", "4", "8")}, Trials: 6, Law: foldertest.Law{4e6, 0.05, 0.001}, Noise: 0.01, Seed: 3})
	all["B is faster, by"] = foldertest.MakeSweep(t, dir, foldertest.Sides(8, 1.1))
	all["reproduced"] = foldertest.MakeStudy(t, dir)
	all["knee"] = foldertest.MakeCurve(t, dir, "curve", 1e6, "p99=20us", map[string]string{"engine": "slab", "records": "1000", "workload": "YCSB-B"})
	return all
}

// rendered returns what GitHub makes of a text, by another implementation of its language.
func rendered(t *testing.T, text string) *element {
	t.Helper()
	var out bytes.Buffer
	if err := goldmark.New(goldmark.WithExtensions(extension.GFM), goldmark.WithRendererOptions(html.WithXHTML())).Convert([]byte(text), &out); err != nil {
		t.Fatal(err)
	}
	tree, err := parse([]byte("<div>" + strings.ReplaceAll(out.String(), "<!-- raw HTML omitted -->", "<raw/>") + "</div>"))
	if err != nil {
		t.Fatalf("%v\n%s", err, &out)
	}
	return tree
}

// said returns a text without code marks and with single spaces.
func said(spans []span) string {
	text := ""
	for _, s := range spans {
		text += s.text
	}
	return strings.Join(strings.Fields(text), " ")
}

// The section of each kind of folder, and of all together, renders as it was meant: the cells
// of each table, the headings, the lines of the shell. Every figure is there, and no HTML.
func TestGitHub(t *testing.T) {
	all := folders(t)
	kvsplot := command.Program{Commands: []command.Command{Command}}
	one := func(says string, dirs ...string) {
		t.Run(says, func(t *testing.T) {
			dir := t.TempDir()
			file := filepath.Join(dir, "section.md")
			for range 1 + strings.Count(says, "knee") { // a second one replaces the first
				if status := kvsplot.Main(append([]string{"markdown", "-o", file}, dirs...), os.Stdout, os.Stderr); status != 0 {
					t.Fatal("exit status", status)
				}
			}
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			tree := rendered(t, string(text))
			if n := len(tree.find("raw")); n != 1 { // the mark
				t.Errorf("%d pieces of HTML", n)
			}
			s, err := of(dir, dirs)
			if err != nil {
				t.Fatal(err)
			}
			var want, got []string
			for _, b := range s.blocks {
				switch b.kind {
				case tabular:
					want = append(want, cells(b)...)
				case shell:
					want = append(want, b.text)
				case heading, item:
					want = append(want, said(b.spans))
				}
			}
			collect(tree, &got)
			if a, b := strings.Join(want, "\n"), strings.Join(got, "\n"); a != b {
				t.Errorf("rendered\n%s\nwant\n%s", b, a)
			}
			pictures := 0
			for _, match := range regexp.MustCompile(`!\[[^\n]*\]\(([^)\n]+)\)`).FindAllStringSubmatch(string(text), -1) {
				name, err := url.PathUnescape(match[1])
				if err != nil {
					t.Fatal(err)
				}
				f, err := os.Open(filepath.Join(dir, name))
				if err != nil {
					t.Fatal(err)
				}
				if _, err := png.Decode(f); err != nil {
					t.Errorf("%s: %v", name, err)
				}
				f.Close()
				pictures++
			}
			if pictures == 0 || pictures != strings.Count(string(text), "![") {
				t.Errorf("%d figures of %d", pictures, strings.Count(string(text), "!["))
			}
			if !strings.Contains(string(text), says) || !strings.Contains(string(text), "### Reproduce") && !strings.Contains(string(text), "INVALID") {
				t.Errorf("the section does not say %q, or not how to reproduce it:\n%s", says, text)
			}
		})
	}
	for says, dir := range all {
		one(says, dir)
	}
	one("## Results", all["VALID"], all["from 2 to 8 nodes"], all["B is faster, by"])
}

// collect adds the texts of headings, items, tables and code of a page, in its order.
func collect(e *element, all *[]string) {
	for _, in := range e.inner {
		switch in.name {
		case "h2", "h3", "li":
			*all = append(*all, said(in.spans()))
		case "pre":
			*all = append(*all, strings.Trim(in.plain(), "\n"))
		case "table":
			*all = append(*all, cells(in.table())...)
		default:
			collect(in, all)
		}
	}
}

// cells returns the texts of a table.
func cells(b block) (all []string) {
	for _, c := range b.head {
		all = append(all, said(c.spans))
	}
	for _, row := range b.rows {
		for _, c := range row {
			all = append(all, said(c))
		}
	}
	return all
}

// Any text means itself, in a line and in a cell.
func TestInline(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	rng := rand.New(rand.NewPCG(seed, 0))
	for range 2000 {
		var spans []span
		for range 1 + rng.IntN(3) {
			text := ""
			for range 1 + rng.IntN(8) {
				text += []string{"a", "B", "7", "|", "\\", "`", "*", "_", "[", "]", "(", ")", "<b>", "&amp;", "#", "~", "~~", "!", "-", "+", "=", ".", ":", "http://x.y", " ", " ", "\u00a0", "é", "$"}[rng.IntN(29)]
			}
			spans = append(spans, span{text, rng.IntN(4) == 0})
		}
		want := said(spans)
		if want == "" {
			continue
		}
		b := block{kind: tabular, head: []cell{{spans: words("head")}, {spans: words("b")}}, rows: [][][]span{{spans, words("end")}}}
		s := &section{blocks: []block{{kind: paragraph, spans: spans}, {kind: heading, spans: words("h")}, b}}
		tree := rendered(t, s.github(nil))
		if p := tree.find("p"); len(p) != 1 || said(p[0].spans()) != want {
			t.Errorf("%q: a paragraph\n%s", want, s.github(nil))
		}
		if table := tree.find("table"); len(table) != 1 || said(table[0].table().rows[0][0]) != want || len(table[0].table().rows[0]) != 2 {
			t.Errorf("%q: a cell\n%s", want, s.github(nil))
		}
	}
}

// The tables of a paper have as many cells in each row as columns, balanced braces, and no
// character that TeX takes for something else. LaTeX sets them, where it is installed.
func TestLaTeX(t *testing.T) {
	free := regexp.MustCompile(`(^|[^\\])[&#_%$^~<>|"]`)
	for says, dir := range folders(t) {
		s, err := of(t.TempDir(), []string{dir})
		if err != nil {
			t.Fatal(err)
		}
		text := s.latex()
		for _, pair := range [][2]string{{`\begin{table}`, `\end{table}`}, {`\begin{tabular}`, `\end{tabular}`}, {`\toprule`, `\bottomrule`}} {
			if n := strings.Count(text, pair[0]); n == 0 || n != strings.Count(text, pair[1]) {
				t.Errorf("%s: %d %s, %d %s", says, n, pair[0], strings.Count(text, pair[1]), pair[1])
			}
		}
		columns := 0
		for line := range strings.Lines(text) {
			if strings.HasPrefix(line, "%") {
				continue
			}
			if _, spec, ok := strings.Cut(line, `\begin{tabular}{`); ok {
				columns = len(strings.TrimRight(spec, "}\n"))
				continue
			}
			row, isRow := strings.CutSuffix(line, " \\\\\n")
			if isRow && len(strings.Split(row, " & ")) != columns {
				t.Errorf("%s: not %d cells: %s", says, columns, line)
			}
			if found := free.FindString(strings.ReplaceAll(row, " & ", "")); found != "" {
				t.Errorf("%s: %q in %s", says, found, line)
			}
		}
		bare := strings.NewReplacer(`\{`, "", `\}`, "").Replace(text)
		if strings.Count(bare, "{") != strings.Count(bare, "}") {
			t.Errorf("%s: braces are not balanced", says)
		}
		if pdflatex, err := exec.LookPath("pdflatex"); err == nil {
			cmd := exec.Command(pdflatex, "-interaction=nonstopmode", "-halt-on-error")
			cmd.Dir, cmd.Stdin = t.TempDir(), strings.NewReader("\\documentclass{article}\\usepackage{booktabs}\\usepackage[T1]{fontenc}\\begin{document}\n"+text+"\\end{document}\n")
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Errorf("%s: %v\n%s", says, err, out)
			}
		}
	}
}

// A file that something else has written stays.
func TestOverwritesNothing(t *testing.T) {
	file := filepath.Join(t.TempDir(), "README.md")
	if err := os.WriteFile(file, []byte("# Mine\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	run := filepath.Join(t.TempDir(), "run")
	foldertest.WriteFolder(t, run, foldertest.MakeRun(t, foldertest.Gallery["small"]))
	kvsplot := command.Program{Commands: []command.Command{Command}}
	for want, args := range map[string][]string{
		"kvsplot markdown has not written it": {"-o", file, run}, "want kvsplot markdown RUN": nil, "not a run folder": {t.TempDir()},
	} {
		var stderr bytes.Buffer
		if status := kvsplot.Main(append([]string{"markdown"}, args...), &bytes.Buffer{}, &stderr); status != 2 || !strings.Contains(stderr.String(), want) {
			t.Errorf("%q: exit status %d, %s; want %q", args, status, &stderr, want)
		}
	}
	if text, _ := os.ReadFile(file); string(text) != "# Mine\n" {
		t.Errorf("README.md is now %q", text)
	}
}

// The commands name what a clone has. What it lacks is said.
func TestReproduce(t *testing.T) {
	root := t.TempDir()
	git := func(args ...string) string {
		t.Helper()
		out, err := exec.Command("git", append([]string{"-C", root, "-c", "user.name=t", "-c", "user.email=t@example.org", "-c", "commit.gpgsign=false"}, args...)...).CombinedOutput()
		if err != nil {
			t.Fatalf("git %q: %v\n%s", args, err, out)
		}
		return strings.TrimSpace(string(out))
	}
	for _, name := range []string{"store.toml", "own.toml"} {
		if err := os.WriteFile(filepath.Join(root, name), nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	git("init", "-q")
	git("add", "store.toml")
	git("commit", "-q", "-m", "one")
	commit := git("rev-parse", "HEAD")
	for _, test := range []struct {
		commit  string
		command string
		want    string // the command that is shown
		lacks   string
	}{
		{commit, "--target ROOT/store.toml --out /somewhere --name x --json -v --secs 5", "--target store.toml --secs 5", ""},
		{commit, "--target=ROOT/store.toml --out=/somewhere", "'--target=store.toml'", ""},
		{commit, "--target ROOT/own.toml", "--target own.toml", "The command needs own.toml, which is not in the repository."},
		{commit, "--target ../team/their.toml", "--target ../team/their.toml", "The command needs ../team/their.toml, which is not in the checkout"},
		{strings.Repeat("1", 40), "--secs 5", "--secs 5", "is not in the checkout that wrote this"},
		{commit + "-dirty", "--secs 5", "--secs 5", "which files these are was not recorded"},
		{"", "--secs 5", "--secs 5", "was not recorded"},
	} {
		words := strings.Fields("run-cluster.sh " + strings.ReplaceAll(test.command, "ROOT", root))
		dir := filepath.Join(t.TempDir(), "run")
		files := foldertest.MakeRun(t, foldertest.Gallery["small"])
		var run metrics.Run
		if err := metrics.DecodeJSON("run.json", files["run.json"].Data, &run); err != nil {
			t.Fatal(err)
		}
		run.Command, run.GitCommit = words, test.commit
		foldertest.WriteFolder(t, dir, files)
		foldertest.WriteJSON(t, filepath.Join(dir, "run.json"), run)
		s, err := of(root, []string{dir})
		if err != nil {
			t.Fatal(err)
		}
		text := s.github(s.linked)
		if line := "\n./run-cluster.sh " + strings.ReplaceAll(test.want, "'", "") + "\n"; !strings.Contains(strings.ReplaceAll(text, "'", ""), line) {
			t.Errorf("no %q in\n%s", line, text)
		}
		if lacks := strings.Contains(text, "The command needs") || strings.Contains(text, "not recorded") || strings.Contains(text, "is not in the checkout"); lacks != (test.lacks != "") || !strings.Contains(strings.ReplaceAll(text, `\`, ""), test.lacks) {
			t.Errorf("%s of %q: want %q in\n%s", test.command, test.commit, test.lacks, text)
		}
	}
}

// A revision in the command is the commit that it was.
func TestReproduceRevision(t *testing.T) {
	begun := metrics.Sweep{Command: []string{"run-cluster.sh", "--ab", "commit:HEAD~1", ""}, GitCommit: "c1", Variants: []metrics.Variant{{Args: "commit:HEAD~1", GitCommit: "c0"}, {}}}
	blocks := []block{{kind: shell, text: "./run-cluster.sh " + format.CommandLine(begun.Command[1:])}}
	(&section{root: t.TempDir()}).reproduce(blocks, begun)
	if want := "./run-cluster.sh --ab commit:c0 ''"; blocks[0].text != want {
		t.Errorf("%q, want %q", blocks[0].text, want)
	}
}
