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

	"kvlab/kvs/driver"
)

// null serves a connection as a server of the settings' form does, without a store: it decodes
// the remote calls and encodes their replies, one after another.
func null(socket net.Conn, o driver.Options, store *driver.Null) error {
	f, err := newForm(o.Settings)
	if err != nil {
		return err
	}
	in, out := bufio.NewReaderSize(socket, 64<<10), bufio.NewWriterSize(socket, 64<<10)
	if !f.tcp {
		if _, err := http.ReadRequest(in); err != nil {
			return err
		}
		_, _ = io.WriteString(out, "HTTP/1.0 "+connected+"\n\n") // Flush has its error
	}
	s := storeless{form: f, store: store, dec: gob.NewDecoder(in), enc: gob.NewEncoder(out),
		methods: map[string]*message{f.get: f.message(false, reflect.TypeFor[int64]())}}
	if !f.mixed() {
		s.methods[f.put] = f.message(true, reflect.TypeFor[int64]())
	}
	for err == nil {
		if in.Buffered() == 0 {
			err = out.Flush()
		}
		if err == nil {
			err = s.serve()
		}
	}
	if errors.Is(err, io.EOF) {
		return nil
	}
	return err
}

// storeless is a connection of a server without a store.
type storeless struct {
	form    *form
	store   *driver.Null
	dec     *gob.Decoder
	enc     *gob.Encoder
	methods map[string]*message
}

// serve answers a remote call.
func (s *storeless) serve() error {
	var r rpc.Request
	if err := s.dec.Decode(&r); err != nil {
		return err
	}
	m := s.methods[r.ServiceMethod]
	if m == nil {
		return fmt.Errorf("method %q: the form has none of this name", r.ServiceMethod)
	}
	m.args.Elem().SetZero() // gob sends no zero values
	if err := s.dec.Decode(m.args.Interface()); err != nil {
		return err
	}
	if err := s.enc.Encode(&rpc.Response{ServiceMethod: r.ServiceMethod, Seq: r.Seq}); err != nil {
		return err
	}
	return s.enc.Encode(s.reply(m))
}

// reply executes the operations of a remote call, and returns its reply.
func (s *storeless) reply(m *message) any {
	n := 1
	if m.ops.IsValid() {
		n = m.ops.Len()
	}
	reply, results := reflect.ValueOf(&struct{}{}), reflect.Value{}
	if m.reply != nil {
		reply = reflect.New(m.reply)
		if results = reply.Elem().Field(0); m.ops.IsValid() {
			results.Grow(n)
			results.SetLen(n)
		}
		if s.form.errors != "" {
			reply.Elem().Field(1).Set(reflect.ValueOf(make([]error, n)))
		}
	}
	value, _ := s.store.Value()
	read := alias(value)
	for i := range n {
		op := m.args.Elem()
		if m.ops.IsValid() {
			op = m.ops.Index(i)
		}
		if put := m.method == s.form.put && (!s.form.mixed() || op.Field(2).Equal(m.kinds[1])); put {
			s.store.Keep(bytesOf(op.Field(1).String()))
			continue
		}
		result := results
		if m.ops.IsValid() {
			result = result.Index(i)
		}
		if m.wrapped {
			result = result.Field(0)
		}
		result.SetString(read)
	}
	return reply.Interface()
}
