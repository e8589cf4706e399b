package export

import (
	"bufio"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"
)

// OpenMetrics writes the tables as OpenMetrics text (version 1.0.0). A column of numbers
// is a gauge, with a row's keys as labels; the words of a run are one metric of type info,
// and its latencies a histogram in seconds.
func (t Tables) OpenMetrics(w io.Writer) error {
	out := bufio.NewWriter(w)
	for _, table := range t[:3] {
		// The samples of a metric follow each other.
		slices.SortStableFunc(table.Rows, func(a, b Row) int { return strings.Compare(labels(a, table.keys), labels(b, table.keys)) })
		prefix := "kvlab_" + strings.TrimSuffix(table.Name, "s") + "_"
		if table.time == "" {
			table.info(out, prefix[:len(prefix)-1])
		}
		for _, column := range table.columnsOf(true) {
			table.gauge(out, metricName(prefix+column), column)
		}
	}
	t[3].histogram(out, "kvlab_latency_seconds")
	fmt.Fprintln(out, "# EOF")
	return out.Flush()
}

// gauge writes a column.
func (t *Table) gauge(out io.Writer, name, column string) {
	fmt.Fprintf(out, "# TYPE %s gauge\n", name)
	for _, row := range t.Rows {
		cell, ok := row[column]
		switch cell {
		case true:
			cell = 1
		case false:
			cell = 0
		}
		if _, word := cell.(string); !ok || word {
			continue
		}
		fmt.Fprintf(out, "%s%s %s", name, labels(row, t.keys), text(cell))
		if t.time != "" {
			fmt.Fprintf(out, " %.6f", row[t.time])
		}
		fmt.Fprintln(out)
	}
}

// info writes the words of each row.
func (t *Table) info(out io.Writer, name string) {
	fmt.Fprintf(out, "# TYPE %s info\n", name)
	columns := append(t.keys, t.columnsOf(false)...)
	for _, row := range t.Rows {
		fmt.Fprintf(out, "%s_info%s 1\n", name, labels(row, columns))
	}
}

// histogram writes the bars of each latency of each run, added up from the lowest.
func (t *Table) histogram(out io.Writer, name string) {
	fmt.Fprintf(out, "# TYPE %s histogram\n# UNIT %[1]s seconds\n", name)
	var count int64
	var sum float64 // as HdrHistogram computes a mean: of the bars' middles
	for i, row := range t.Rows {
		from, to, n := row["from_us"].(int64), row["to_us"].(int64), row["count"].(int64)
		count += n
		sum += float64(n) * (float64(from) + float64(to)) / 2e6
		bucket := labels(row, t.keys)
		fmt.Fprintf(out, "%s_bucket%s %d\n", name, le(bucket, text(float64(to)/1e6)), count)
		if i+1 < len(t.Rows) && labels(t.Rows[i+1], t.keys) == bucket {
			continue
		}
		fmt.Fprintf(out, "%s_bucket%s %d\n%[1]s_count%[4]s %[3]d\n%[1]s_sum%[4]s %[5]s\n", name, le(bucket, "+Inf"), count, bucket, text(sum))
		count, sum = 0, 0
	}
}

// le adds a bucket's upper end to its labels.
func le(labels, end string) string {
	return fmt.Sprintf("%s,le=%q}", strings.TrimSuffix(labels, "}"), end)
}

var (
	escape  = strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`)
	foreign = regexp.MustCompile(`[^a-zA-Z0-9_]`)
)

// metricName replaces what a name of a metric or a label may not have.
func metricName(text string) string { return foreign.ReplaceAllString(text, "_") }

// labels are the cells of some columns, without absent ones.
func labels(row Row, columns []string) string {
	var words []string
	for _, name := range columns {
		if cell, ok := row[name].(string); ok {
			if name == "id" {
				name = "run"
			}
			words = append(words, fmt.Sprintf(`%s="%s"`, metricName(name), escape.Replace(cell)))
		}
	}
	return "{" + strings.Join(words, ",") + "}"
}
