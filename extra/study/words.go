package study

import (
	"fmt"
	"slices"
	"strings"

	"kvlab/metrics"
	"kvlab/metrics/format"
)

// nameOf names a claim among those of several studies.
func nameOf(c metrics.Claim) string { return c.Study + "/" + c.Name }

// table has a line for each claim, in 80 columns, and a sentence for each that is not
// reproduced.
func table(results []metrics.ClaimResult) string {
	rows, reasons := [][]string{{"claim", "outcome", "found, and its 95 % interval"}}, ""
	for _, r := range results {
		rows = append(rows, []string{format.Label(nameOf(r.Claim), 36), string(r.Outcome), found(r)})
		if r.Outcome != metrics.Reproduced {
			reasons += format.Wrap(format.Label(fmt.Sprintf("%s: %s", format.Label(nameOf(r.Claim), 60), r.Reason), 400), 0, 2) + "\n"
		}
	}
	if reasons != "" {
		reasons = "\n" + reasons
	}
	return "\n" + format.Aligned(rows) + reasons + "\n"
}

// found returns the value of a claim's comparison with its 95 % interval; of several, that of
// the first.
func found(r metrics.ClaimResult) string {
	if len(r.Pairs) == 0 || r.Pairs[0].High == 0 {
		return "-"
	}
	p := r.Pairs[0]
	unit := ""
	if p.A != "" {
		unit = "x"
	}
	text := fmt.Sprintf("%s%s, %s to %s", format.Count(p.Value), unit, format.Count(p.Low), format.Count(p.High))
	if n := len(r.Pairs); n > 1 {
		text += fmt.Sprintf(" (+%d)", n-1)
	}
	return text
}

// page returns study.md: a table of all claims, and each claim with its source, its outcome and
// the figures that decided.
func page(plan metrics.Sweep, done []metrics.Trial, results []metrics.ClaimResult) string {
	var b strings.Builder
	fmt.Fprintf(&b, "# Claims of %s\n\n%s. %s of %s, commit %.12s, by\n`./%s`\n\n%s", strings.Join(plan.Study.Names, ", "), metrics.OutcomesOf(results),
		format.Plural(len(done), "trial"), plan.Started.UTC().Format("2 January 2006"), plan.GitCommit, format.CommandLine(plan.Command), machines(done))
	fmt.Fprintf(&b, "Reproduced: shown to hold, at %g %%. Contradicted: shown not to hold, so that one or more claims that hold\nare called so with a probability of at most %[1]g %% (Holm).\n", 100*plan.Study.Alpha)
	b.WriteString("\n| claim | outcome | found, and its 95 % interval |\n|---|---|---|\n")
	for _, r := range results {
		fmt.Fprintf(&b, "| %s | %s | %s |\n", nameOf(r.Claim), r.Outcome, found(r))
	}
	limits := make(map[string]string)
	for _, p := range metrics.Summarize(plan, done) {
		limit, _ := p.Bottleneck()
		limits[p.Values[0]] = string(limit)
	}
	for i, r := range results {
		if i == 0 || r.Claim.Study != results[i-1].Claim.Study {
			fmt.Fprintf(&b, "\n## %s\n", r.Claim.Study)
			if slices.Contains(Names(), r.Claim.Study) {
				fmt.Fprintf(&b, "\nAgain: `./run-cluster.sh --study %s`\n", r.Claim.Study)
			}
		}
		fmt.Fprintf(&b, "\n### %s: %s\n\n%s (%s)\n\n%s.\n", r.Claim.Name, r.Outcome, r.Claim.Text, r.Claim.Source, strings.TrimSuffix(r.Reason, "."))
		writeFigures(&b, r, limits)
	}
	b.WriteString("\n## Points\n\n| point | launcher flags |\n|---|---|\n")
	for _, p := range plan.Study.Points {
		fmt.Fprintf(&b, "| %s | `%s` |\n", p.Name, p.Args)
	}
	return b.String()
}

// machines returns the different machines of the first valid trial, a line each.
func machines(done []metrics.Trial) string {
	var lines []string
	for _, t := range done {
		if t.Run == nil || len(lines) > 0 {
			continue
		}
		for _, n := range t.Run.Nodes {
			if n.Config != nil {
				h := n.Config.Host
				lines = append(lines, fmt.Sprintf("Machine: %s, %s, Linux %s, %s.\n", h.CPUModel, format.Plural(h.Cores, "processor"), h.Kernel, h.GoVersion))
			}
		}
	}
	slices.Sort(lines)
	return strings.Join(slices.Compact(lines), "")
}

// writeFigures writes the tables of a claim's points and comparisons; none of one that was
// not tested.
func writeFigures(b *strings.Builder, r metrics.ClaimResult, limits map[string]string) {
	if len(r.Values) == 0 || r.Rounds == 0 {
		return
	}
	m, _ := measureOf(r.Claim.Measure) // Decide has seen it
	fmt.Fprintf(b, "\n| point | %s | 95 %% interval | limited by |\n|---|---|---|---|\n", strings.Join(slices.Compact(format.NonEmpty(m.Name, m.Unit)), ", ")+", "+format.Plural(r.Rounds, "round"))
	for _, v := range r.Values {
		fmt.Fprintf(b, "| %s | %s | %s to %s | %s |\n", v.Point, format.Count(v.Value), format.Count(v.Low), format.Count(v.High), limits[v.Point])
	}
	fmt.Fprint(b, "\n| comparison | value | 95 % interval | 90 % interval |\n|---|---|---|---|\n")
	for _, p := range r.Pairs {
		what := p.B
		if p.A != "" {
			what += " over " + p.A
		}
		fmt.Fprintf(b, "| %s | %s | %s to %s | %s to %s |\n", what, format.Count(p.Value), format.Count(p.Low), format.Count(p.High), format.Count(p.Low90), format.Count(p.High90))
	}
}
