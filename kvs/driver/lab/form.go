package lab

import (
	"cmp"
	"errors"
	"fmt"
	"go/token"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"kvlab/metrics/input"
)

// preset is a form that servers of the course have.
type preset struct {
	name     string
	settings map[string]string
}

// Label returns the name, which says enough.
func (p preset) Label() (name, description string) { return p.name, "" }

// presets are the course's server and those of teams, first the default.
var presets = []preset{
	{"base", map[string]string{}},
	{"clawcodes", map[string]string{"method": "KVService.BatchOp", "ops": "Operations", "kind": "OpType", "kinds": "GET,PUT", "results": "Results"}},
	{"dashree", map[string]string{"method": "KVService.ExecuteBatch", "ops": "Operations", "kind": "Type", "kinds": "0,1", "results": "Values", "errors": "Errors"}},
	{"dashree-gets", map[string]string{"get-ops": "Key"}},
	{"citywatch", map[string]string{"method": "KVService.Process_Batch", "ops": "Data", "kind": "IsRead", "id": "RequestID", "results": "Values"}},
	{"sacatrash", map[string]string{"method": "KVService.Batch", "ops": "Ops", "kind": "IsRead", "results": "Values"}},
	{"kangyang", map[string]string{"method": "KVService.ProcessBatch", "ops": "Operations", "kind": "IsRead", "indices": "Indices", "results": "Values"}},
	{"gianghta", map[string]string{"get": "KVService.BatchGet", "get-ops": "Requests", "results": "Responses.Value"}},
	{"haoren", map[string]string{"get": "KVService.GetBatch", "put": "KVService.PutBatch", "get-ops": "Keys", "put-ops": "Items", "results": "Values.Value"}},
}

// form names a server's remote methods, and the fields of their arguments and replies.
// The comments name the settings.
type form struct {
	get, put       string // get, put, or method for both: one call then carries Gets and Puts
	getOps, putOps string // get-ops, put-ops, or ops for both: the arguments' list of operations; "" for one operation a call, whose fields are the arguments'
	key, value     string // key, value: an operation's fields; a list named as the key holds the keys themselves
	kind           string // kind: an operation's field that tells a Get from a Put
	kinds          [2]any // kinds: its values, Get's first
	id             string // id: the arguments' field for a number that no other call has; "" for none
	indices        string // indices: the arguments' field for the operations' numbers, from 0; "" for none
	results        string // results: the reply's field, a list if there is one of operations
	result         string // results, after a point: the field of a result; "" if it is the value itself
	errors         string // errors: the reply's field for a list of Go's errors, all nil; "" for none. gob cannot skip it
}

// defaults are the settings that a preset need not have.
var defaults = map[string]string{
	"method": "", "get": "KVService.Get", "put": "KVService.Put", "ops": "", "get-ops": "", "put-ops": "", "key": "Key", "value": "Value",
	"kind": "", "kinds": "true,false", "id": "", "indices": "", "results": "Value", "errors": "",
}

// settings are the names of all.
var settings = append(slices.Sorted(maps.Keys(defaults)), "preset")

// newForm returns the form of settings, or an error that names the first wrong one.
func newForm(given map[string]string) (*form, error) {
	p, err := input.Find("preset", cmp.Or(given["preset"], presets[0].name), presets)
	if err != nil {
		return nil, err
	}
	s := maps.Clone(defaults)
	for _, over := range []map[string]string{p.settings, given} {
		maps.Copy(s, over)
		for both, each := range map[string][]string{"method": {"get", "put"}, "ops": {"get-ops", "put-ops"}} {
			if value, ok := over[both]; ok {
				for _, name := range each {
					s[name] = cmp.Or(over[name], value)
				}
			}
		}
	}
	results, result, _ := strings.Cut(s["results"], ".")
	get, put, _ := strings.Cut(s["kinds"], ",")
	f := &form{s["get"], s["put"], s["get-ops"], s["put-ops"], s["key"], s["value"], s["kind"],
		[2]any{typed(get), typed(put)}, s["id"], s["indices"], results, result, s["errors"]}
	return f, f.validate()
}

// typed returns the value of a field that a setting writes: a bool, an int or a string.
func typed(text string) any {
	if b, err := strconv.ParseBool(text); err == nil && len(text) > 1 {
		return b
	}
	if n, err := strconv.Atoi(text); err == nil {
		return n
	}
	return text
}

// mixed reports whether a call carries Gets and Puts.
func (f *form) mixed() bool { return f.get == f.put }

func (f *form) validate() error {
	for _, method := range []string{f.get, f.put} {
		if service, name, ok := strings.Cut(method, "."); !ok || !token.IsExported(service) || !token.IsExported(name) {
			return fmt.Errorf("method %q of a lab server: want a service and a method, such as KVService.Get", method)
		}
	}
	names := []string{f.getOps, f.putOps, f.key, f.value, f.kind, f.id, f.indices}
	for i, field := range append(names, f.results, f.result, f.errors) {
		switch {
		case field == "":
		case !token.IsIdentifier(field) || !token.IsExported(field):
			return fmt.Errorf("field %q of a lab server: want a Go name with a first capital, such as Key", field)
		case i > 1 && i < len(names) && slices.Contains(names[2:i], field), i > 3 && i < len(names) && slices.Contains(names[:2], field):
			return fmt.Errorf("field %s of a lab server stands for two things: want different names", field)
		}
	}
	switch {
	case f.key == "" || f.value == "" || f.results == "":
		return errors.New("settings key, value and results of a lab server: want the names of fields, such as Key")
	case f.mixed() && (f.getOps == "" || f.getOps != f.putOps || f.kind == ""):
		return fmt.Errorf("method %s of a lab server carries Gets and Puts: want ops, the arguments' list of operations, and kind, their field that tells which", f.get)
	case f.mixed() && (f.kinds[0] == f.kinds[1] || reflect.TypeOf(f.kinds[0]) != reflect.TypeOf(f.kinds[1])):
		return errors.New("setting kinds of a lab server: want its kind's two values, Get's first, such as GET,PUT or 0,1 or true,false")
	case !f.mixed() && f.kind != "":
		return errors.New("setting kind of a lab server: want method too, for a call that carries Gets and Puts")
	}
	return nil
}
