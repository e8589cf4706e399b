package artifact

import (
	_ "embed"
	"fmt"
	"os"
	"slices"
	"strings"
	"text/template"

	"kvlab/metrics"
	"kvlab/metrics/format"
	"kvlab/plots/compare"
	"kvlab/plots/folder"
)

//go:embed readme.md
var readme string

// page is what README.md says.
type page struct {
	ID, Commit, Command string
	Figures             []compare.Figure
	Minutes             float64 // of all trials
	MemoryMB            float64 // of all processes, the trial with the most
	Topology, Go        string
	Machines            []string
	Measurable          bool // run.sh is there
	Changed             bool // diff.patch is there
	Missing             []string
}

// addReadme writes README.md, which says what the result is and how to get it again.
func (a *artifact) addReadme() error {
	p := page{ID: a.plan.ID, Commit: a.plan.GitCommit, Figures: a.figures, Changed: len(a.tree.diff) > 0, Measurable: a.measurable(), Missing: a.notes}
	if len(a.plan.Command) > 0 {
		p.Command = format.CommandLine(append([]string{"./run-cluster.sh"}, a.plan.Command[1:]...))
	}
	for _, r := range a.runs {
		p.Minutes += r.Ended.Sub(r.Started).Minutes()
		p.MemoryMB = max(p.MemoryMB, memory(r))
		p.Topology = folder.DescribeTopology(r.Run)
		for _, m := range folder.Hardware(r.Nodes) {
			text := fmt.Sprintf("%s, %d processors, %s, %s, Linux %s", m.CPUModel, m.Cores, m.Memory(), m.OS, m.Kernel)
			if p.Go = m.GoVersion; !slices.Contains(p.Machines, text) {
				p.Machines = append(p.Machines, text)
			}
		}
	}
	words := template.FuncMap{"cell": func(text string) string { return strings.ReplaceAll(format.Label(text, 300), "|", `\|`) }}
	layout, err := template.New("README.md").Funcs(words).Parse(readme)
	if err != nil {
		return err
	}
	var text strings.Builder
	if err := layout.Execute(&text, p); err != nil {
		return err
	}
	return os.WriteFile(a.path("README.md"), []byte(text.String()), 0o644)
}

// memory returns the sum of the largest resident sets of a run's processes, in MB.
func memory(r *folder.Run) (mb float64) {
	for _, role := range []metrics.Role{metrics.Server, metrics.Client} {
		for _, s := range r.Summaries(role) {
			if s.Saturation != nil {
				mb += float64(s.Saturation.ProcessRSSBytes) / 1e6
			}
		}
	}
	return mb
}
