package lab

import (
	"cmp"
	"errors"
	"fmt"
	"math/rand/v2"
	"reflect"
	"strconv"
	"strings"

	"kvlab/kvs/driver"
)

// nullTypes returns the types of the fields tx of a server without a store, and the mask of
// their numbers.
func (f *Form) nullTypes() (types idTypes, mask uint64) {
	for s := range types {
		for range f.txn.tx {
			types[s] = append(types[s], reflect.TypeFor[uint64]())
		}
	}
	return types, wide
}

// wide is the mask of numbers that fields of 64 bits hold, with a sign or without.
const wide = 1<<63 - 1

// fit checks that a server has the form's methods, and their fields, and returns what it learns
// of the fields tx. A remote call tells the type of a field if it carries a value of another: the
// server cannot decode it, so it executes nothing. Then one transaction reads a key, and is
// aborted, to see what replies have.
func (f *Form) fit(c *codec) (types idTypes, mask uint64, err error) {
	types, mask = f.nullTypes()
	named := map[string]reflect.Type{} // the types that have a name of the server's own
	for _, s := range [...]step{get, put, begin, prepare, commit, abort} {
		method := f.txn.methods[s]
		if method == "" {
			continue
		}
		if s == begin && f.txn.made {
			if answer, err := c.ask(method, complex(0, 0)); err != nil || strings.Contains(answer, "can't find") {
				return types, mask, cmp.Or(err, misfit(method, "is not there: %q", answer))
			}
			continue
		}
		for i, path := range f.txn.tx {
			of, err := c.probe(method, path)
			if err != nil {
				return types, mask, err
			}
			if types[s][i], err = f.resolve(c, of, path, named); err != nil {
				return types, mask, err
			}
			if bits, err := strconv.Atoi(strings.TrimLeft(of, "uint")); err == nil && bits < 64 {
				mask = min(mask, 1<<(bits-1)-1)
			}
		}
		for _, path := range f.txn.fields(s) {
			if _, err := c.probe(method, path); err != nil {
				return types, mask, err
			}
		}
	}
	return types, mask, f.try(c, types, mask)
}

// fields returns the fields that a step's arguments must have, but for tx.
func (t *transactions) fields(s step) (paths []string) {
	switch s {
	case get:
		paths = []string{t.get, t.kind, t.update, t.twice, t.client}
		if t.methods[get] != t.methods[put] {
			paths[1] = ""
		}
	case put:
		paths = []string{t.put, t.value, t.twice, t.client}
	case commit:
		paths = []string{t.lead}
	case abort:
		if t.twice != "" {
			paths = []string{t.get, t.kind}
		}
	}
	kept := paths[:0]
	for _, path := range paths {
		if path != "" {
			kept = append(kept, path)
		}
	}
	return kept
}

// misfit returns an error that says how a server's method differs from the form.
func misfit(method, layout string, args ...any) error {
	return &driver.MisfitError{Text: method + " " + fmt.Sprintf(layout, args...)}
}

// probe returns the type of a field of a method's arguments.
func (c *codec) probe(method, path string) (of string, err error) {
	answer, err := c.ask(method, reflect.New(nested([]place{{path, reflect.TypeFor[unlike]()}})).Interface())
	if err != nil {
		return "", err
	}
	parts := refusedType.FindStringSubmatch(answer)
	if parts == nil {
		return "", misfit(method, "does not take the field %s: %q", path, answer)
	}
	return parts[1], nil
}

// resolve returns the type that gob has for a field tx of the get method. A name of the server's
// own is that of whichever type the server takes: it refuses the call for the key then.
func (f *Form) resolve(c *codec, of, path string, named map[string]reflect.Type) (reflect.Type, error) {
	switch {
	case of == "string":
		return text, nil
	case strings.HasPrefix(of, "int"):
		return reflect.TypeFor[int64](), nil
	case strings.HasPrefix(of, "uint"):
		return reflect.TypeFor[uint64](), nil
	case named[of] != nil:
		return named[of], nil
	}
	for _, candidate := range []reflect.Type{text, reflect.TypeFor[int64](), reflect.TypeFor[uint64]()} {
		answer, err := c.ask(f.txn.methods[get], reflect.New(nested([]place{{path, candidate}, {f.txn.get, reflect.TypeFor[unlike]()}})).Interface())
		if err != nil {
			return nil, err
		}
		if parts := refusedType.FindStringSubmatch(answer); parts != nil && parts[1] != of {
			named[of] = candidate
			return candidate, nil
		}
	}
	return nil, misfit(f.txn.methods[get], "has a field %s of type %s: the setting tx wants a string, or an integer", path, of)
}

// try reads a key in a transaction, which it aborts, and checks that the replies have the fields
// that the settings name.
func (f *Form) try(c *codec, types idTypes, mask uint64) (err error) {
	remotes, number, made := f.remotes(types), max(rand.Uint64()&mask, 1), reflect.Value{}
	ask := func(s step, reply any) (body error) {
		r := remotes[s]
		if r == nil || err != nil {
			return nil
		}
		r.identify(number, number, made)
		if r.key.IsValid() {
			r.key.SetString("kvlab")
		}
		if r.kind.IsValid() {
			r.kind.Set(reflect.ValueOf(f.kinds[0]))
		}
		_, body, err = c.exchange(r.method, r.args.Interface(), reply)
		return body
	}
	begun := reflect.New(reflect.StructOf(nil))
	if remotes[begin] != nil {
		begun = reflect.New(remotes[begin].reply)
	}
	if body := ask(begin, begun.Interface()); body != nil {
		return misfit(remotes[begin].method, "answers what the form does not have: %v", body)
	}
	if f.txn.made {
		made = reflect.ValueOf(at(begun.Elem(), f.txn.tx[0]).Interface())
	}
	paths := []string{remotes[get].result}
	for _, one := range remotes[get].refused {
		paths = append(paths, one.path)
	}
	var missing error
	for _, path := range paths {
		body := ask(get, reflect.New(nested([]place{{path, reflect.TypeFor[unlike]()}})).Interface())
		if missing == nil && path != "" && err == nil && (body == nil || refusedType.FindString(body.Error()) == "") {
			missing = misfit(remotes[get].method, "has no field %s in its reply", path)
		}
	}
	ask(abort, nil)
	return cmp.Or(err, missing)
}

// suggest returns the error of a server that does not fit the form, with the preset that it fits
// if it has transactions.
func (l *lab) suggest(c *codec, server int, err error) error {
	for _, p := range presets {
		if p.settings["tx"] == "" {
			continue
		}
		f, _ := NewForm(p.settings)
		_, _, other := f.fit(c)
		if other == nil {
			return &driver.MisfitError{Text: fmt.Sprintf("it has transactions: want preset=%s, as in --target 'lab://%s?preset=%[1]s' (%[3]v)", p.name, l.options.Hosts[server], err)}
		} else if !errors.As(other, new(*driver.MisfitError)) {
			return err
		}
	}
	return &driver.MisfitError{Text: err.Error() + ": want another preset, or its settings"}
}
