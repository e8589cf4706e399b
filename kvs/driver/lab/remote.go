package lab

import (
	"reflect"
	"strconv"
	"strings"
)

// remote is a remote call of a step: its arguments, which are encoded before the next call, and
// the type of its reply. A field that the call does not have is invalid.
type remote struct {
	step    step
	method  string
	args    reflect.Value // points to a struct
	tx      []reflect.Value
	client  reflect.Value
	key     reflect.Value
	value   reflect.Value
	kind    reflect.Value
	update  reflect.Value
	twice   reflect.Value
	lead    reflect.Value
	reply   reflect.Type
	result  string // the path of the value in the reply; "" if it has none
	made    string // the path of the attempt's number in the reply; "" if it has none
	refused []refusal
	free    []reflect.Value // replies that no call needs
}

// remotes returns the calls of a server, whose fields tx have the types.
func (f *Form) remotes(types idTypes) (all [steps]*remote) {
	t := f.txn
	for s := begin; s < steps; s++ {
		if t.methods[s] == "" {
			continue
		}
		r := &remote{step: s, method: t.methods[s]}
		operation := s == get || s == put || s == abort && t.twice != ""
		key, value, kind, update, twice, lead := "", "", "", "", "", ""
		if operation {
			kind, key = t.kind, t.get
		}
		switch s {
		case get:
			if update, twice = t.update, t.twice; t.methods[get] == t.methods[put] {
				value = t.value // gob sends no empty one
			}
		case put:
			key, value, twice = t.put, t.value, t.twice
		case commit, abort:
			lead = t.lead
		}
		flag := reflect.TypeFor[bool]()
		places := []place{{t.client, reflect.TypeFor[int]()}, {key, text}, {value, text}, {kind, reflect.TypeOf(f.kinds[0])}, {update, flag}, {twice, flag}, {lead, flag}}
		given := t.tx
		if s == begin && t.made {
			given = nil
		}
		for i, path := range given {
			places = append(places, place{path, types[s][i]})
		}
		r.args = reflect.New(nested(places))
		to := r.args.Elem()
		for _, path := range given {
			r.tx = append(r.tx, at(to, path))
		}
		r.client, r.key, r.value, r.kind = at(to, t.client), at(to, key), at(to, value), at(to, kind)
		r.update, r.twice, r.lead = at(to, update), at(to, twice), at(to, lead)
		r.answers(f, types)
		all[s] = r
	}
	return all
}

// answers sets what the reply has.
func (r *remote) answers(f *Form, types idTypes) {
	var places []place
	if r.step == get {
		r.result = strings.TrimSuffix(f.results+"."+f.result, ".")
		places = append(places, place{r.result, text})
	}
	if r.step == begin && f.txn.made {
		r.made = f.txn.tx[0]
		places = append(places, place{r.made, types[get][0]})
	}
	for _, one := range f.txn.refused {
		if one.of[r.step] {
			if r.refused = append(r.refused, one); one.path != "" {
				places = append(places, place{one.path, reflect.TypeOf(one.value)})
			}
		}
	}
	r.reply = nested(places)
}

// take returns memory for a reply.
func (r *remote) take() reflect.Value {
	if n := len(r.free); n > 0 {
		reply := r.free[n-1]
		r.free = r.free[:n-1]
		reply.Elem().SetZero() // gob sends no zero values
		return reply
	}
	return reflect.New(r.reply)
}

// refuses reports whether a reply, or the server's error, refuses the call.
func (r *remote) refuses(reply reflect.Value, err error) bool {
	for i := range r.refused {
		switch one := &r.refused[i]; {
		case err != nil && one.path == "" && strings.Contains(err.Error(), one.text):
			return true
		case err == nil && one.path != "" && (at(reply.Elem(), one.path).Interface() == one.value) != one.not:
			return true
		}
	}
	return false
}

// identify sets the fields of an attempt's number, and of its age: made is the number if the
// server has made it.
func (r *remote) identify(number, age uint64, made reflect.Value) {
	for i, field := range r.tx {
		switch {
		case made.IsValid():
			field.Set(made)
		case i == 0:
			setNumber(field, number)
		default:
			setNumber(field, age)
		}
	}
}

// setNumber sets a field that is an integer or a string.
func setNumber(field reflect.Value, n uint64) {
	switch {
	case field.CanInt():
		field.SetInt(int64(n))
	case field.CanUint():
		field.SetUint(n)
	default:
		field.SetString(strconv.FormatUint(n, 10))
	}
}

// setBool sets a flag that the call has.
func setBool(field reflect.Value, is bool) {
	if field.IsValid() {
		field.SetBool(is)
	}
}

// idTypes are the types of the fields tx by step. gob has one for all integers with a sign, one
// for those without, and one for strings.
type idTypes [steps][]reflect.Type

// accept makes a reply one that does not refuse the call.
func (r *remote) accept(reply reflect.Value) {
	if r.made != "" {
		setNumber(at(reply.Elem(), r.made), 1)
	}
	for i := range r.refused {
		switch one := &r.refused[i]; value := one.value.(type) {
		case nil: // an error
		case bool:
			at(reply.Elem(), one.path).SetBool(value == one.not)
		default:
			if is := reflect.ValueOf(value); one.not {
				at(reply.Elem(), one.path).Set(is)
			} else if is.IsZero() {
				setNumber(at(reply.Elem(), one.path), 1)
			}
		}
	}
}
