package lab

import (
	"bufio"
	"encoding/gob"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/rpc"
	"reflect"

	"kvlab/kvs"
	"kvlab/kvs/driver"
)

// Served is a connection of a server of a form. One goroutine reads its requests, and one
// answers them.
type Served struct {
	form *Form
	in   *bufio.Reader
	out  *bufio.Writer
	dec  *gob.Decoder
	enc  *gob.Encoder
}

// Request is a remote call that a server got. The memory is used again by the next Read into it.
type Request struct {
	Ops []kvs.Op // Gets and Puts, in order

	head    rpc.Request
	fault   string // why it has none
	calls   map[string]*message
	message *message // of calls; nil of a fault
}

// Serve makes a connection that a client has opened one of a server of the form. The client
// says by its first words whether it speaks net/rpc by HTTP or on TCP.
func (f *Form) Serve(socket net.Conn) (*Served, error) {
	in, out := bufio.NewReaderSize(socket, 64<<10), bufio.NewWriterSize(socket, 64<<10)
	if first, err := in.Peek(len(http.MethodConnect)); err != nil {
		return nil, err
	} else if string(first) == http.MethodConnect {
		if _, err := http.ReadRequest(in); err != nil {
			return nil, err
		}
		_, _ = io.WriteString(out, "HTTP/1.0 "+connected+"\n\n")
	}
	return &Served{f, in, out, gob.NewDecoder(in), gob.NewEncoder(out)}, out.Flush()
}

// Await waits for the first byte of the next request. io.EOF means that the client closed the
// connection between two requests.
func (s *Served) Await() error {
	_, err := s.in.Peek(1)
	return err
}

// Buffered reports whether a part of the next request is there.
func (s *Served) Buffered() bool { return s.in.Buffered() > 0 }

// Read reads the next request. One of another form is none's error: Answer refuses it.
func (s *Served) Read(r *Request) error {
	if r.calls == nil {
		plain := *s.form // no reply depends on the others' fields, which gob skips
		plain.stamp, plain.id, plain.indices = "", "", ""
		r.calls = map[string]*message{plain.get: plain.message(false, nil)}
		if !plain.mixed() {
			r.calls[plain.put] = plain.message(true, nil)
		}
	}
	r.Ops, r.head, r.fault = r.Ops[:0], rpc.Request{}, ""
	if err := s.dec.Decode(&r.head); err != nil {
		return err
	}
	if r.message = r.calls[r.head.ServiceMethod]; r.message == nil {
		r.fault = "rpc: can't find method " + r.head.ServiceMethod // as net/rpc has it
		return s.dec.DecodeValue(reflect.Value{})
	}
	r.message.clear()
	if err := s.dec.DecodeValue(r.message.args); err != nil {
		if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || isNet(err) {
			return err
		}
		r.message, r.fault = nil, err.Error()
		return nil
	}
	r.list(s.form)
	return nil
}

func isNet(err error) bool {
	_, is := errors.AsType[net.Error](err)
	return is
}

// Refuse makes Answer answer with an error.
func (r *Request) Refuse(err error) { r.fault = err.Error() }

// clear prepares the arguments for the next call: gob sends no zero values, and uses the memory
// of a list again.
func (m *message) clear() {
	if !m.ops.IsValid() {
		m.args.Elem().SetZero()
		return
	}
	m.ops.SetLen(m.ops.Cap())
	m.ops.Clear()
	m.ops.SetLen(0)
}

// list fills Ops from the arguments, whose strings stay as they are.
func (r *Request) list(f *Form) {
	m, n := r.message, 1
	if m.ops.IsValid() {
		n = m.ops.Len()
	}
	put := m.method == f.put && !f.mixed()
	for i := range n {
		from := m.args.Elem()
		if m.ops.IsValid() {
			from = m.ops.Index(i)
		}
		op := kvs.Op{Kind: kvs.Get}
		if m.keyOnly {
			op.Key = bytesOf(from.String())
		} else if op.Key = bytesOf(from.Field(0).String()); put || f.mixed() && from.Field(2).Equal(m.kinds[1]) {
			op.Kind, op.Value = kvs.Put, bytesOf(from.Field(1).String())
		}
		r.Ops = append(r.Ops, op)
	}
	for i, op := range r.Ops {
		if len(op.Key) == 0 || len(op.Key) > kvs.MaxKeyLen || len(op.Value) > kvs.MaxValueLen {
			r.Ops, r.fault = r.Ops[:0], fmt.Sprintf("operation %d of the call has a key of %d bytes and a value of %d: kvlab's server takes keys of 1 to %d bytes, and values of %d at most",
				i, len(op.Key), len(op.Value), kvs.MaxKeyLen, kvs.MaxValueLen)
			return
		}
	}
}

// Answer encodes the reply to a request: a value of each Get, in order, which is "" of a Put. The
// reply is sent by Flush, or before.
func (s *Served) Answer(r *Request, values []string) error {
	head := rpc.Response{ServiceMethod: r.head.ServiceMethod, Seq: r.head.Seq, Error: r.fault}
	if err := s.enc.Encode(&head); err != nil || r.fault != "" {
		return errors.Join(err, s.enc.Encode(struct{}{}))
	}
	m := r.message
	if m.reply == nil {
		return s.enc.Encode(s.form.acknowledgement())
	}
	reply := reflect.New(m.reply).Elem()
	results := reply.Field(0)
	if m.ops.IsValid() {
		results.Grow(len(values))
		results.SetLen(len(values))
	}
	for i, value := range values {
		result := results
		if m.ops.IsValid() {
			result = result.Index(i)
		}
		if m.wrapped {
			result = result.Field(0)
		}
		result.SetString(value)
	}
	if s.form.errors != "" {
		reply.Field(1).Set(reflect.ValueOf(make([]error, len(values))))
	}
	return s.enc.EncodeValue(reply)
}

// acknowledgement returns the reply to a Put that says nothing else.
func (f *Form) acknowledgement() any {
	if f.ack == "" {
		return struct{}{}
	}
	reply := reflect.New(reflect.StructOf([]reflect.StructField{field(f.ack, reflect.TypeFor[bool]())})).Elem()
	reply.Field(0).SetBool(true)
	return reply.Interface()
}

// Flush sends the replies.
func (s *Served) Flush() error { return s.out.Flush() }

// null serves a connection as a server of the settings' form does, without a store: it decodes
// the remote calls and encodes their replies, one after another.
func null(socket net.Conn, o driver.Options, store *driver.Null) error {
	f, err := NewForm(o.Settings)
	if err != nil {
		return err
	}
	s, err := f.Serve(socket)
	if f.txn != nil && err == nil {
		return s.nullTransactions(store)
	}
	var r Request
	var values []string
	for err == nil {
		if !s.Buffered() {
			err = s.Flush()
		}
		if err == nil {
			err = s.Read(&r)
		}
		if err != nil {
			break
		}
		values = values[:0]
		value, _ := store.Value()
		for _, op := range r.Ops {
			if op.Kind == kvs.Put {
				store.Keep(op.Value)
				values = append(values, "")
			} else {
				values = append(values, alias(value))
			}
		}
		err = s.Answer(&r, values)
	}
	return ended(err)
}

// ended returns the error of a connection, but for its client's end.
func ended(err error) error {
	if errors.Is(err, io.EOF) {
		return nil
	}
	return err
}

// nullTransactions serves a connection of transactions as null does. It refuses nothing.
func (s *Served) nullTransactions(store *driver.Null) error {
	types, _ := s.form.nullTypes()
	remotes, methods := s.form.remotes(types), make(map[string]*remote)
	for _, r := range remotes {
		if r != nil && methods[r.method] == nil {
			methods[r.method] = r
		}
	}
	for {
		if !s.Buffered() {
			if err := s.Flush(); err != nil {
				return err
			}
		}
		var head rpc.Request
		if err := s.dec.Decode(&head); err != nil {
			return ended(err)
		}
		r, answer := methods[head.ServiceMethod], rpc.Response{ServiceMethod: head.ServiceMethod, Seq: head.Seq}
		if r == nil {
			return fmt.Errorf("no method %s", head.ServiceMethod)
		}
		r.args.Elem().SetZero()
		if err := s.dec.DecodeValue(r.args); err != nil {
			return err
		}
		reply := r.take()
		if r.result != "" && (!r.kind.IsValid() || r.kind.Interface() == s.form.kinds[0]) {
			value, _ := store.Value()
			at(reply.Elem(), r.result).SetString(alias(value))
		}
		if r.value.IsValid() && r.value.Len() > 0 {
			store.Keep(bytesOf(r.value.String()))
		}
		r.accept(reply)
		err := errors.Join(s.enc.Encode(&answer), s.enc.EncodeValue(reply))
		if r.free = append(r.free, reply); err != nil {
			return err
		}
	}
}
