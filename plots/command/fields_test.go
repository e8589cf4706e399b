package command

import (
	"bytes"
	"reflect"
	"strings"
	"testing"
	"time"

	"kvlab/metrics"
)

// TestFields prints every field that encoding/json finds in the files of a run folder, in
// the record where it is.
func TestFields(t *testing.T) {
	var out bytes.Buffer
	if status := (Program{Commands: []Command{Fields}}).Main([]string{"fields"}, &out, &out); status != 0 {
		t.Fatalf("exit status %d\n%s", status, out.String())
	}
	sections := map[string]string{}
	for _, text := range strings.Split(out.String(), "\n\n")[1:] {
		name, rows, _ := strings.Cut(text, "\n")
		name, _, _ = strings.Cut(name, ",")
		sections[name] = rows
	}
	seen := map[reflect.Type]bool{}
	var check func(of reflect.Type, section string)
	check = func(of reflect.Type, section string) {
		for of.Kind() == reflect.Pointer || of.Kind() == reflect.Slice || of.Kind() == reflect.Map {
			of = of.Elem()
		}
		if of.Kind() != reflect.Struct || of == reflect.TypeFor[time.Time]() || section == "" && seen[of] {
			return
		}
		seen[of] = true
		if section == "" {
			section = of.Name()
		}
		for i := range of.NumField() {
			f := of.Field(i)
			json, _, _ := strings.Cut(f.Tag.Get("json"), ",")
			switch {
			case f.Anonymous && json == "":
				check(f.Type, section)
			case json != "-" && f.IsExported():
				if !strings.Contains(sections[section], "\n  "+json+" ") {
					t.Errorf("%s has no %s", section, json)
				}
				check(f.Type, "")
			}
		}
	}
	for _, of := range []any{metrics.Run{}, metrics.Record{}, metrics.Sweep{}, metrics.Trial{}, metrics.ClaimResult{}, metrics.Standings{}, metrics.Rerun{}, metrics.Manifest{}} {
		check(reflect.TypeOf(of), "")
	}
	if len(seen) < 50 {
		t.Errorf("only %d records", len(seen))
	}
}
