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
)

// Form names a server's remote methods, and the fields of their arguments and replies.
// The comments name the settings. It is immutable.
type Form struct {
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
	ack            string // ack: the field, which is true, of the reply to a Put that has no results; "" for none. The driver does not look at it
	stamp          string // stamp: an operation's field for a number that grows with each operation; "" for none
	tcp            bool   // transport: whether net/rpc runs on TCP, as rpc.Accept serves it, and not by HTTP

	txn *transactions // of a server with transactions, or nil
}

// defaults are the settings that a preset need not have.
var defaults = map[string]string{
	"method": "", "get": "KVService.Get", "put": "KVService.Put", "ops": "", "get-ops": "", "put-ops": "", "key": "Key", "value": "Value",
	"kind": "", "kinds": "true,false", "id": "", "indices": "", "results": "Value", "errors": "", "ack": "", "stamp": "", "transport": "http",
}

// Settings are the names of all.
var Settings = append(slices.Sorted(maps.Keys(defaults)), append(slices.Sorted(maps.Keys(transactional)), "preset")...)

// NewForm returns the form of Settings, or an error that names the first wrong one.
func NewForm(given map[string]string) (*Form, error) {
	ofPreset, err := findPreset(cmp.Or(given["preset"], presets[0].name))
	if err != nil {
		return nil, err
	}
	if given["kinds"] != "" && cmp.Or(given["kind"], ofPreset["kind"]) == "" {
		return nil, errors.New("setting kinds of a lab server: want kind too, the field that has one of them")
	}
	s := maps.Clone(defaults)
	maps.Copy(s, transactional)
	for _, over := range []map[string]string{ofPreset, given} {
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
	f := &Form{s["get"], s["put"], s["get-ops"], s["put-ops"], s["key"], s["value"], s["kind"],
		[2]any{typed(get), typed(put)}, s["id"], s["indices"], results, result, s["errors"], s["ack"], s["stamp"], s["transport"] == "tcp", nil}
	if transport := s["transport"]; transport != "tcp" && transport != "http" {
		return nil, fmt.Errorf("transport %q of a lab server: want http (rpc.HandleHTTP), or tcp (rpc.Accept, rpc.ServeConn)", transport)
	}
	if s["tx"] != "" {
		f.txn, err = newTransactions(s)
		return f, err
	}
	for _, name := range slices.Sorted(maps.Keys(transactional)) {
		if s[name] != transactional[name] {
			return nil, fmt.Errorf("setting %s of a lab server: want tx too, the field that tells transactions apart, or a preset of transactions", name)
		}
	}
	return f, f.validate()
}

// Transactional reports whether the form is that of a server with transactions.
func (f *Form) Transactional() bool { return f.txn != nil }

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
func (f *Form) mixed() bool { return f.get == f.put }

// isMethod returns an error if a text names no remote method.
func isMethod(text string) error {
	if service, name, ok := strings.Cut(text, "."); !ok || !token.IsExported(service) || !token.IsExported(name) {
		return fmt.Errorf("method %q of a lab server: want a service and a method, such as KVService.Get", text)
	}
	return nil
}

func (f *Form) validate() error {
	if err := cmp.Or(isMethod(f.get), isMethod(f.put)); err != nil {
		return err
	}
	names := []string{f.getOps, f.putOps, f.key, f.value, f.kind, f.stamp, f.id, f.indices}
	for i, field := range append(names, f.results, f.result, f.errors, f.ack) {
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
	case f.stamp != "" && (f.getOps == f.key || f.putOps == f.key):
		return errors.New("setting stamp of a lab server: a list of keys has no field for it: want get-ops or put-ops of another name, or none")
	case !f.mixed() && f.kind != "":
		return errors.New("setting kind of a lab server: want method too, for a call that carries Gets and Puts")
	}
	return nil
}
