package serve

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"kvlab/metrics"
	"kvlab/plots/folder"
	"kvlab/plots/table"
)

// endOfFile is how much of a node's file tablesOf reads: some seconds.
const endOfFile = 256 << 10

// tablesOf returns a run, named id, as it is now: what run.json has, if there is one yet, and
// the last interval and the last usage of each node. It reads only the ends of the nodes'
// files, so that asking for it every few seconds disturbs no measurement.
func tablesOf(dir, id string) (result, seconds table.Table, err error) {
	var run metrics.Run
	switch err := metrics.ReadJSON(filepath.Join(dir, "run.json"), &run); {
	case err == nil:
		run.ID = id
		result.Add("", run)
	case !errors.Is(err, fs.ErrNotExist):
		return result, seconds, err
	}
	files, err := folder.NodeFiles(dir)
	if err != nil {
		return result, seconds, err
	}
	for _, path := range files {
		records, err := (&folder.Tail{Path: path, Most: endOfFile}).Next()
		if err != nil {
			return result, seconds, err
		}
		var last [2]metrics.Record
		for _, r := range records {
			switch {
			case r.Interval != nil:
				last[0] = r
			case r.Usage != nil:
				last[1] = r
			}
		}
		for _, r := range last {
			seconds.AddSecond(id, r)
		}
	}
	return result, seconds, nil
}

// secondsKeys are the columns of a second that say whose it is, and timeColumn is its time.
var secondsKeys = []string{"id", "node", "role", "record", "phase"}

const timeColumn = "time_unix_s"

// writeOpenMetrics writes the tables as OpenMetrics text (version 1.0.0). A column of numbers
// is a gauge; the columns that say whose a row is are its labels. The words of the result are
// one metric of type info.
func writeOpenMetrics(w io.Writer, result, seconds table.Table) error {
	out := bufio.NewWriter(w)
	words := append([]string{"id"}, columnsOf(result, false)...)
	fmt.Fprintln(out, "# TYPE kvlab_run info")
	for _, row := range result.Rows {
		fmt.Fprintf(out, "kvlab_run_info%s 1\n", labels(row, words))
	}
	for _, column := range columnsOf(result, true) {
		writeGauge(out, result, "kvlab_run_", column, []string{"id"})
	}
	// The samples of a metric follow each other.
	slices.SortStableFunc(seconds.Rows, func(a, b table.Row) int {
		return strings.Compare(labels(a, secondsKeys), labels(b, secondsKeys))
	})
	for _, column := range columnsOf(seconds, true) {
		writeGauge(out, seconds, "kvlab_second_", column, secondsKeys)
	}
	fmt.Fprintln(out, "# EOF")
	return out.Flush()
}

// columnsOf returns the columns of a table that hold numbers, or all others, in order,
// without keys and times.
func columnsOf(t table.Table, numbers bool) []string {
	is := make(map[string]bool)
	for _, row := range t.Rows {
		for name, cell := range row {
			if _, word := cell.(string); word != numbers {
				is[name] = true
			}
		}
	}
	for _, key := range append(secondsKeys, timeColumn) {
		delete(is, key)
	}
	return slices.Sorted(maps.Keys(is))
}

// writeGauge writes a column.
func writeGauge(out io.Writer, t table.Table, prefix, column string, keys []string) {
	name := metricName(prefix + column)
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
		fmt.Fprintf(out, "%s%s %s", name, labels(row, keys), table.Text(cell))
		if time, ok := row[timeColumn]; ok {
			fmt.Fprintf(out, " %.6f", time)
		}
		fmt.Fprintln(out)
	}
}

var (
	escape  = strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`)
	foreign = regexp.MustCompile(`[^a-zA-Z0-9_]`)
)

// metricName replaces what a name of a metric or a label may not have.
func metricName(text string) string { return foreign.ReplaceAllString(text, "_") }

// labels returns the cells of some columns, without absent ones.
func labels(row table.Row, columns []string) string {
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
