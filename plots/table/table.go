// Package table makes rows of records, for other programs: a column for each field, named as
// in JSON.
package table

import (
	"encoding/csv"
	"fmt"
	"io"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"kvlab/metrics"
)

// Table has a row for each run, trial, second or bar of a histogram.
type Table struct {
	Name    string
	Columns []string // in the order in which the rows had them first
	Rows    []Row
}

// Row holds the cells of a row by column: a string, a bool or a number. A cell that the
// row does not have is absent.
type Row map[string]any

// Add adds a row with the cells of some values. cells are pairs of a name and a value.
func (t *Table) Add(cells ...any) {
	r := make(Row)
	for i := 0; i < len(cells); i += 2 {
		t.add(r, cells[i].(string), reflect.ValueOf(cells[i+1]))
	}
	t.Rows = append(t.Rows, r)
}

// AddSecond adds a record of a node of the run id, if it is an interval or a usage.
func (t *Table) AddSecond(id string, record metrics.Record) {
	cells := []any{"id", id, "node", record.Node, "role", record.Role, "time_unix_s", float64(record.Time.UnixNano()) / 1e9, "record"}
	switch interval, usage := record.Interval, record.Usage; {
	case interval != nil:
		t.Add(append(cells, "interval", "", interval, "ops", interval.Counts.Ops(), "ops_per_s", interval.OpsPerS())...)
	case usage != nil:
		cells = append(cells, "usage", "", usage)
		if data, ok := usage.Data(); ok {
			cells = append(cells, "data", data)
		}
		t.Add(cells...)
	}
}

// add adds a value's cells, named after its fields' JSON names and the keys of its maps,
// with underscores between them. A list of anything but words has no cell, nor has a zero
// that JSON omits as such.
func (t *Table) add(r Row, name string, v reflect.Value) {
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() {
			t.add(r, name, v.Elem())
		}
	case reflect.Struct:
		if at, ok := v.Interface().(time.Time); ok {
			if !at.IsZero() {
				t.set(r, name, at.Format(time.RFC3339Nano))
			}
			return
		}
		for i := range v.NumField() {
			field, option, _ := strings.Cut(v.Type().Field(i).Tag.Get("json"), ",")
			if field != "-" && (option != "omitzero" || !v.Field(i).IsZero()) {
				t.add(r, join(name, field), v.Field(i))
			}
		}
	case reflect.Map:
		keys := v.MapKeys()
		slices.SortFunc(keys, func(a, b reflect.Value) int { return strings.Compare(a.String(), b.String()) })
		for _, key := range keys {
			t.add(r, join(name, key.String()), v.MapIndex(key))
		}
	case reflect.Array: // of two: an interval
		t.add(r, join(name, "low"), v.Index(0))
		t.add(r, join(name, "high"), v.Index(1))
	case reflect.Slice:
		if words, ok := v.Interface().([]string); ok && len(words) > 0 {
			t.set(r, name, strings.Join(words, " "))
		}
	case reflect.String:
		if v.Len() > 0 {
			t.set(r, name, v.String())
		}
	default:
		t.set(r, name, v.Interface())
	}
}

func join(name, field string) string {
	if name == "" || field == "" {
		return name + field
	}
	return name + "_" + field
}

func (t *Table) set(r Row, name string, value any) {
	if !slices.Contains(t.Columns, name) {
		t.Columns = append(t.Columns, name)
	}
	r[name] = value
}

// CSV writes the table by RFC 4180, with the columns' names first. A number has all its
// digits, an absent cell is empty.
func (t *Table) CSV(w io.Writer) error {
	out := csv.NewWriter(w)
	if err := out.Write(t.Columns); err != nil {
		return err
	}
	line := make([]string, len(t.Columns))
	for _, row := range t.Rows {
		for i, name := range t.Columns {
			line[i] = Text(row[name])
		}
		if err := out.Write(line); err != nil {
			return err
		}
	}
	out.Flush()
	return out.Error()
}

// Text returns a cell as CSV and OpenMetrics write it.
func Text(cell any) string {
	switch value := cell.(type) {
	case nil:
		return ""
	case float64:
		return strconv.FormatFloat(value, 'g', -1, 64)
	}
	return fmt.Sprint(cell)
}
