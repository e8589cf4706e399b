package experiment

import (
	"encoding/csv"
	"strconv"
	"strings"
	"time"

	"kvlab/metrics"
)

// columns are the columns of trials.csv that follow the knobs'. Their names are those of
// trials.json.
var columns = []struct {
	name string
	cell func(metrics.Trial) string
}{
	{"servers", func(t metrics.Trial) string { return strconv.Itoa(t.Servers) }},
	{"clients", func(t metrics.Trial) string { return strconv.Itoa(t.Clients) }},
	{"workers", func(t metrics.Trial) string { return strconv.Itoa(t.Workers) }},
	{"non_stationary", func(t metrics.Trial) string { return strconv.FormatBool(t.NonStationary) }},
	{"valid", func(t metrics.Trial) string { return strconv.FormatBool(t.Verdict.Valid) }},
	{"ops", func(t metrics.Trial) string { return strconv.FormatUint(t.Ops, 10) }},
	{"window_s", func(t metrics.Trial) string { return number(&t.WindowS) }},
	{"ops_per_s", func(t metrics.Trial) string { return number(&t.OpsPerS) }},
	{"p50_us", func(t metrics.Trial) string { return number(t.P50) }},
	{"p99_us", func(t metrics.Trial) string { return number(t.P99) }},
	{"op_p50_us", func(t metrics.Trial) string { return number(t.OpP50) }},
	{"op_p95_us", func(t metrics.Trial) string { return number(t.OpP95) }},
	{"op_p99_us", func(t metrics.Trial) string { return number(t.OpP99) }},
	{"op_p99_9_us", func(t metrics.Trial) string { return number(t.OpP999) }},
	{"late_p99_us", func(t metrics.Trial) string { return number(t.LateP99) }},
	{"offered_ops_per_s", func(t metrics.Trial) string { return number(&t.OfferedOpsPerS) }},
	{"bytes_per_op_sent", func(t metrics.Trial) string { return number(&t.BytesPerOpSent) }},
	{"bytes_per_op_received", func(t metrics.Trial) string { return number(&t.BytesPerOpReceived) }},
	{"link_bits_per_s", func(t metrics.Trial) string { return strconv.FormatUint(t.LinkBitsPerS, 10) }},
	{"counts", func(t metrics.Trial) string { return string(t.Counting) }},
	{"started", func(t metrics.Trial) string { return t.Started.Format(time.RFC3339Nano) }},
	{"ended", func(t metrics.Trial) string { return t.Ended.Format(time.RFC3339Nano) }},
	{"folder", func(t metrics.Trial) string { return t.Folder }},
	{"reason", func(t metrics.Trial) string { return t.Verdict.Reason }},
	{"node", func(t metrics.Trial) string { return t.Verdict.Node }},
}

// number writes a figure with all its digits, and nil as "".
func number(value *float64) string {
	if value == nil {
		return ""
	}
	return strconv.FormatFloat(*value, 'g', -1, 64)
}

// table returns trials.csv: a line for each trial, INVALID ones too, with the knobs as
// knob_NAME.
func table(knobs []metrics.Knob, trials []metrics.Trial) string {
	var text strings.Builder
	table := csv.NewWriter(&text)
	head := []string{"number"}
	for _, knob := range knobs {
		head = append(head, "knob_"+knob.Name)
	}
	for _, column := range columns {
		head = append(head, column.name)
	}
	table.Write(head) // it cannot fail
	for _, trial := range trials {
		line := append([]string{strconv.Itoa(trial.Number)}, trial.Point...)
		for _, column := range columns {
			line = append(line, column.cell(trial))
		}
		table.Write(line)
	}
	table.Flush()
	return text.String()
}
