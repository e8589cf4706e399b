package client

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"kvlab/kvs/node"
	"kvlab/kvs/server"
	"kvlab/metrics"
)

// derived are the methods of metrics.Settings that read another method, several flags, or a flag of a
// third program.
var derived = []string{"AutoBatch", "Caches", "MeasuresPeak", "Open", "Own", "Profiled", "Program", "Rival", "SavesBytes"}

// Each method of metrics.Settings reads the flag of a program that it is named after, and no
// other.
func TestSettings(t *testing.T) {
	names := map[string]string{} // of the flags, by the method's name in lower case
	for _, program := range []node.Program{Program(), server.Program(nil)} {
		var stdout, stderr strings.Builder
		var flags []metrics.Flag
		if status := program.Main([]string{"-flags"}, strings.NewReader(""), &stdout, &stderr); status != 0 || json.Unmarshal([]byte(stdout.String()), &flags) != nil {
			t.Fatalf("-flags: status %d, %s%s", status, &stdout, &stderr)
		}
		for _, f := range flags {
			names[strings.ReplaceAll(f.Name, "-", "")] = f.Name
		}
	}
	settings := reflect.TypeFor[metrics.Settings]()
	for i := range settings.NumMethod() {
		method := settings.Method(i)
		if strings.Contains(strings.Join(derived, " "), method.Name) {
			continue
		}
		read := func(s metrics.Settings) any {
			return method.Func.Call([]reflect.Value{reflect.ValueOf(s)})[0].Interface()
		}
		own, none := names[strings.ToLower(method.Name)], read(nil)
		if own == "" {
			t.Errorf("no program has the flag of Settings.%s", method.Name)
		}
		for _, value := range []string{"7", "true"} {
			others := metrics.Settings{}
			for _, flag := range names {
				if flag != own {
					others[flag] = value
				}
			}
			if got := read(others); got != none {
				t.Errorf("Settings.%s is %v by another flag than -%s", method.Name, got, own)
			}
		}
		if read(metrics.Settings{own: "7"}) == none && read(metrics.Settings{own: "true"}) == none {
			t.Errorf("Settings.%s does not read -%s", method.Name, own)
		}
	}
}
