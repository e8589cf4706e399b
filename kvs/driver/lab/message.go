package lab

import (
	"reflect"
	"unsafe"

	"kvlab/kvs"
)

// message is the arguments of a remote method, which are encoded before the next call,
// and the type of its reply. net/rpc's encoding matches fields by name (encoding/gob).
type message struct {
	method  string
	args    reflect.Value // points to a struct
	ops     reflect.Value // the arguments' list of operations; invalid if they are one operation
	keyOnly bool          // the list holds keys
	kinds   [2]reflect.Value
	stamp   int           // the number of an operation's field; -1 if there is none
	id      reflect.Value // invalid if there is none
	indices reflect.Value // likewise
	reply   reflect.Type  // nil if the reply says nothing
	wrapped bool          // a result is a struct's field
}

var text = reflect.TypeFor[string]()

func field(name string, of reflect.Type) reflect.StructField {
	return reflect.StructField{Name: name, Type: of}
}

// message returns that of the form's method for Gets, or for Puts. stamp is the type of the
// field of this name.
func (f *Form) message(put bool, stamp reflect.Type) *message {
	m, list := &message{method: f.get, stamp: -1}, f.getOps
	fields := []reflect.StructField{field(f.key, text)}
	if put {
		m.method, list = f.put, f.putOps
	}
	if put || f.mixed() {
		fields = append(fields, field(f.value, text))
	}
	if f.mixed() {
		fields = append(fields, field(f.kind, reflect.TypeOf(f.kinds[0])))
		m.kinds = [2]reflect.Value{reflect.ValueOf(f.kinds[0]), reflect.ValueOf(f.kinds[1])}
	}
	if f.stamp != "" {
		m.stamp, fields = len(fields), append(fields, field(f.stamp, stamp))
	}
	m.keyOnly = list == f.key && !put
	switch {
	case m.keyOnly:
		fields = []reflect.StructField{field(list, reflect.SliceOf(text))}
	case list != "":
		fields = []reflect.StructField{field(list, reflect.SliceOf(reflect.StructOf(fields)))}
	}
	for name, of := range map[string]reflect.Type{f.id: reflect.TypeFor[int64](), f.indices: reflect.TypeFor[[]int]()} {
		if name != "" {
			fields = append(fields, field(name, of))
		}
	}
	m.args = reflect.New(reflect.StructOf(fields))
	if list != "" {
		m.ops = m.args.Elem().Field(0)
	}
	m.id, m.indices = m.args.Elem().FieldByName(f.id), m.args.Elem().FieldByName(f.indices)
	if put && !f.mixed() {
		return m
	}
	result := text
	if m.wrapped = f.result != ""; m.wrapped {
		result = reflect.StructOf([]reflect.StructField{field(f.result, text)})
	}
	if list != "" {
		result = reflect.SliceOf(result)
	}
	fields = []reflect.StructField{field(f.results, result)}
	if f.errors != "" {
		fields = append(fields, field(f.errors, reflect.TypeFor[[]error]()))
	}
	m.reply = reflect.StructOf(fields)
	return m
}

// empty removes the operations of the last call.
func (m *message) empty() {
	if m.ops.IsValid() {
		m.ops.SetLen(0)
	}
	if m.indices.IsValid() {
		m.indices.SetLen(0)
	}
}

// add adds an operation, number i of its batch, with its stamp. The arguments refer to its
// memory.
func (m *message) add(op *kvs.Op, i int, stamp int64) {
	to := m.args.Elem()
	if m.ops.IsValid() {
		n := m.ops.Len()
		if n == m.ops.Cap() {
			m.ops.Grow(max(n, 64))
		}
		m.ops.SetLen(n + 1)
		to = m.ops.Index(n)
	}
	if m.indices.IsValid() {
		m.indices.Set(reflect.Append(m.indices, reflect.ValueOf(i)))
	}
	if m.keyOnly {
		to.SetString(alias(op.Key))
		return
	}
	to.Field(0).SetString(alias(op.Key))
	if op.Kind.Writes() || m.kinds[0].IsValid() {
		to.Field(1).SetString(alias(op.Value))
	}
	if m.kinds[0].IsValid() {
		kind := m.kinds[0]
		if op.Kind.Writes() {
			kind = m.kinds[1]
		}
		to.Field(2).Set(kind)
	}
	switch {
	case m.stamp < 0:
	case to.Field(m.stamp).CanInt():
		to.Field(m.stamp).SetInt(stamp)
	default:
		to.Field(m.stamp).SetUint(uint64(stamp))
	}
}

// results returns the number of results in a reply to a list of operations.
func (m *message) results(reply reflect.Value) int { return reply.Elem().Field(0).Len() }

// result returns number i of a reply's results. There is only one unless the arguments list
// operations.
func (m *message) result(reply reflect.Value, i int) string {
	result := reply.Elem().Field(0)
	if m.ops.IsValid() {
		result = result.Index(i)
	}
	if m.wrapped {
		result = result.Field(0)
	}
	return result.String()
}

// alias returns a string in a slice's memory, which does not change while the string is used.
func alias(b []byte) string { return unsafe.String(unsafe.SliceData(b), len(b)) }

// bytesOf returns a string's memory.
func bytesOf(s string) []byte { return unsafe.Slice(unsafe.StringData(s), len(s)) }
