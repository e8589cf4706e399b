package curve

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"text/tabwriter"

	"kvlab/metrics"
	"kvlab/metrics/format"
)

// mainQuantile has an interval in the table of a curve without an objective.
const mainQuantile = "p99"

// Table has a row for each rate. Latencies are in milliseconds, the medians of the trials;
// that of the objective, or p99, has its interval (see medianRange). Of late it is the p99.
func (c Curve) Table() (columns []string, rows [][]string) {
	o, knee := c.Objective, c.Knee()
	names := slices.DeleteFunc(slices.Clone(metrics.QuantileNames[:]), func(name string) bool { return name != o.Quantile && !slices.Contains(Quantiles, name) })
	main := cmp.Or(o.Quantile, mainQuantile)
	columns = slices.Concat([]string{"of peak", "offered", "achieved"}, names, []string{"late", "note"})
	for i, p := range c.Points {
		row := []string{c.share(p), format.Count(p.Offered), format.Count(p.Achieved)}
		for _, name := range names {
			cell := milliseconds(p.Latency(name))
			if e := medianRange(p.Latencies(name)); name == main && cell != "-" && e.N > 1 {
				cell += fmt.Sprintf(" [%s, %s]", milliseconds(e.Low), milliseconds(e.High))
			}
			row = append(row, cell)
		}
		rows = append(rows, append(row, milliseconds(p.late()), strings.Join(format.NonEmpty(marks(p, i == knee, o)...), ", ")))
	}
	return columns, rows
}

// marks say what is remarkable at a point.
func marks(p Point, knee bool, o Objective) []string {
	all := make([]string, 3)
	if p.Saturated() {
		all[0] = "saturated"
	} else if p.Backlog() {
		all[0] = "backlog"
	} else if o != (Objective{}) && p.Latency(o.Quantile) > o.micros() {
		all[1] = "broken"
	}
	if knee {
		all[2] = "knee"
	}
	return all
}

// share returns the point's rate as a share of the peak; "-" without a peak.
func (c Curve) share(p Point) string {
	if c.Peak == 0 {
		return "-"
	}
	return fmt.Sprintf("%.0f%%", 100*p.Offered/c.Peak)
}

// milliseconds writes a latency; "-" without one.
func milliseconds(us float64) string {
	if math.IsNaN(us) || math.IsInf(us, 1) {
		return "-"
	}
	return format.Milliseconds(us)
}

// Lines say where the peak and the knee are, and up to which rate the objective holds.
func (c Curve) Lines() []string {
	return format.NonEmpty(c.PeakLine(), c.KneeLine(), c.ObjectiveLine())
}

// PeakLine says what a closed loop reaches; "" where none was measured.
func (c Curve) PeakLine() string {
	if c.Peak <= 0 {
		return ""
	}
	return fmt.Sprintf("peak %s ops/s, of a closed loop", format.Count(c.Peak))
}

// ObjectiveLine says up to which rate the objective holds; "" without one.
func (c Curve) ObjectiveLine() string {
	if c.Objective == (Objective{}) {
		return ""
	}
	return fmt.Sprintf("SLO %s: %s", c.Objective, c.words())
}

// KneeLine says where the knee is, or beyond which rate; "" of fewer than two latencies.
func (c Curve) KneeLine() string {
	most, first, last := c.powers()
	if first == last {
		return ""
	}
	if fault := c.rises(); fault != "" {
		return "no knee: latency " + fault
	}
	rate := format.Count(c.Points[most].Achieved)
	switch most {
	case first:
		return fmt.Sprintf("knee below %s ops/s, the lowest rate with a latency (offer lower ones)", rate)
	case last:
		return fmt.Sprintf("knee above %s ops/s, the highest rate with a latency (offer higher ones)", rate)
	}
	return fmt.Sprintf("knee at %s ops/s, the highest throughput over mean latency", rate)
}

// String returns the curve for people: its table and its lines, without the last line feed.
func (c Curve) String() string { return c.Text() + strings.Join(c.Lines(), "\n") }

// Text returns the table for a terminal of 80 columns.
func (c Curve) Text() string {
	columns, rows := c.Table()
	var out strings.Builder
	coverage := 1.0
	for _, p := range c.Points {
		coverage = min(coverage, medianRange(p.means()).Coverage)
	}
	out.WriteString("latency in ms, from the moment an operation was due; medians of the trials")
	if coverage > 0 && len(c.Points) > 0 {
		fmt.Fprintf(&out, "\n[their intervals of %.3g %%]", 100*coverage)
	}
	out.WriteByte('\n')
	table := aligned(columns, rows, 2)
	if slices.ContainsFunc(strings.Split(table, "\n"), func(line string) bool { return len(line) > 80 }) {
		table = aligned(columns, rows, 1)
	}
	return out.String() + table
}

// aligned returns a table with a number of spaces between two columns, and the notes to the left.
func aligned(columns []string, rows [][]string, spaces int) string {
	var out strings.Builder
	w := tabwriter.NewWriter(&out, 0, 0, spaces, ' ', tabwriter.AlignRight)
	for _, row := range append([][]string{columns}, rows...) {
		last := len(row) - 1
		fmt.Fprintln(w, strings.TrimRight(strings.Join(row[:last], "\t")+"\t  "+row[last], " "))
	}
	w.Flush()
	return out.String()
}
