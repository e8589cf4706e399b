package lab

import (
	"cmp"
	"errors"
	"fmt"
	"go/token"
	"reflect"
	"slices"
	"strings"
)

// step is a remote call of a transaction.
type step uint8

const (
	begin step = iota
	get
	put
	prepare
	commit
	abort

	steps
)

// stepNames are the settings of the steps' methods.
var stepNames = [steps]string{"begin", "get", "put", "prepare", "commit", "abort"}

// transactions is the part of a form that servers with transactions have. The comments name
// the settings. The path of a field has points where it is a field of a struct's.
type transactions struct {
	methods     [steps]string // begin, get, put, prepare, commit, abort; "" for none
	tx          []string      // tx: the arguments' fields for the attempt's number and, if there are two, its age
	made        bool          // made: the server makes the number, and begin's reply has it
	client      string        // client: the arguments' field for a number of the worker's own; "" for none
	lead        string        // lead: commit's field that is true at one of the servers; "" for none
	update      string        // update: get's field that is true if the transaction also writes the key; "" for none
	twice       string        // twice: the field of get and put that is false at the first call of an operation, and true at the second, which commits it; "" for none
	all         bool          // scope: begin, commit and abort go to all servers, not only to those of the operations
	refused     []refusal     // refused
	get, put    string        // key: the field of a Get, and of a Put
	value, kind string
}

// refusal is how a reply tells that a server refuses a call.
type refusal struct {
	of    [steps]bool
	path  string // of the reply's field; "" of an error
	value any    // it refuses
	not   bool   // any other refuses
	text  string // a part of the error
}

// transactional are the settings that only servers with transactions have, with their defaults.
var transactional = map[string]string{
	"tx": "", "begin": "", "prepare": "", "commit": "KVService.Commit", "abort": "KVService.Abort", "made": "client", "client": "", "lead": "",
	"update": "", "twice": "", "scope": "participants", "refused": "",
}

// newTransactions returns the transactional part of a form of settings.
func newTransactions(s map[string]string) (*transactions, error) {
	for _, name := range []string{"ops", "get-ops", "put-ops", "id", "indices", "stamp", "errors", "ack"} {
		if s[name] != "" {
			return nil, fmt.Errorf("setting %s of a lab server with transactions (tx): want none, since each of its calls is one operation", name)
		}
	}
	t := &transactions{tx: strings.Split(s["tx"], ","), client: s["client"], lead: s["lead"], update: s["update"], twice: s["twice"], value: s["value"], kind: s["kind"]}
	for i, name := range stepNames {
		t.methods[i] = s[name]
	}
	if t.get, t.put, _ = strings.Cut(s["key"], ","); t.put == "" {
		t.put = t.get
	}
	for name, values := range map[string][2]string{"made": {"client", "server"}, "scope": {"participants", "all"}} {
		if s[name] != values[0] && s[name] != values[1] {
			return nil, fmt.Errorf("setting %s of a lab server: want %s or %s, not %q", name, values[0], values[1], s[name])
		}
	}
	t.made, t.all = s["made"] == "server", s["scope"] == "all"
	if t.twice != "" {
		t.methods[commit] = ""
	}
	for text := range strings.SplitSeq(s["refused"], ",") {
		if text == "" {
			continue
		}
		r, err := newRefusal(text)
		if err != nil {
			return nil, err
		}
		t.refused = append(t.refused, r)
	}
	return t, t.validate(s["results"])
}

// newRefusal returns the refusal of FIELD=VALUE, FIELD!=VALUE or error:TEXT.
func newRefusal(text string) (r refusal, err error) {
	word, rest, prefixed := strings.Cut(text, ":")
	if prefixed && word == "error" && rest != "" {
		r.of, r.text = [steps]bool{begin: true, get: true, put: true, prepare: true, commit: true}, rest
		return r, nil
	}
	r.of = [steps]bool{get: true, put: true}
	if of := slices.Index(stepNames[:], word); prefixed && of >= 0 {
		r.of, text = [steps]bool{}, rest
		r.of[of] = true
	}
	path, value, ok := strings.Cut(text, "=")
	path, r.not = strings.CutSuffix(path, "!")
	if r.path, r.value = path, typed(value); !ok || !isPath(path) {
		return r, fmt.Errorf("refused %q of a lab server: want FIELD=VALUE, FIELD!=VALUE or error:TEXT, such as Success=false, and commit:FIELD=VALUE for another reply than those of get and put", text)
	}
	return r, nil
}

// isPath reports whether a text names a field, or one of a struct's with points between.
func isPath(text string) bool {
	for name := range strings.SplitSeq(text, ".") {
		if !token.IsIdentifier(name) || !token.IsExported(name) {
			return false
		}
	}
	return true
}

func (t *transactions) validate(results string) error {
	for i, method := range t.methods {
		if method != "" || step(i) == get || step(i) == put || step(i) == abort {
			if err := isMethod(method); err != nil {
				return err
			}
		}
	}
	for _, path := range append(slices.Clone(t.tx), cmp.Or(t.client, "A"), cmp.Or(t.lead, "A"), cmp.Or(t.update, "A"), cmp.Or(t.twice, "A"), t.get, t.put, t.value, cmp.Or(t.kind, "A"), results) {
		if !isPath(path) {
			return fmt.Errorf("field %q of a lab server: want a Go name with a first capital, such as Key, or several with points, such as Op.Key", path)
		}
	}
	mixed := t.methods[get] == t.methods[put]
	switch {
	case mixed && t.kind == "":
		return fmt.Errorf("method %s of a lab server carries Gets and Puts: want kind, the field that tells which", t.methods[get])
	case !mixed && t.kind != "" && t.twice == "":
		return errors.New("setting kind of a lab server: want method too, for a call that carries Gets and Puts")
	case t.methods[commit] == "" && t.twice == "":
		return errors.New("setting commit of a lab server: want a method, or twice, the field that is true when an operation is sent again")
	case t.made && (t.methods[begin] == "" || len(t.tx) > 1):
		return errors.New("setting made=server of a lab server: want begin too, whose reply has the one field tx")
	case len(t.tx) > 2:
		return fmt.Errorf("setting tx of a lab server: want one field, or two with a comma: the number and the age, not %d", len(t.tx))
	}
	return nil
}

// place is a field of a message, by its path, with its type.
type place struct {
	path string
	of   reflect.Type
}

// nested returns the struct with some places. Those without a path are left out.
func nested(places []place) reflect.Type {
	var fields []reflect.StructField
	for i, p := range places {
		name, _, deep := strings.Cut(p.path, ".")
		switch {
		case p.path == "" || slices.ContainsFunc(fields, func(f reflect.StructField) bool { return f.Name == name }):
		case !deep:
			fields = append(fields, field(name, p.of))
		default:
			var inner []place
			for _, q := range places[i:] {
				if first, rest, _ := strings.Cut(q.path, "."); first == name {
					inner = append(inner, place{rest, q.of})
				}
			}
			fields = append(fields, field(name, nested(inner)))
		}
	}
	return reflect.StructOf(fields)
}

// at returns the field of a struct at a path, which is invalid if the path is "" or not there.
func at(of reflect.Value, path string) reflect.Value {
	for name := range strings.SplitSeq(path, ".") {
		if !of.IsValid() || name == "" {
			return reflect.Value{}
		}
		of = of.FieldByName(name)
	}
	return of
}
