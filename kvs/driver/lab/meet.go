package lab

import (
	"bufio"
	"context"
	"encoding/gob"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/rpc"
	"reflect"
	"regexp"
	"slices"
	"syscall"
	"time"

	"kvlab/kvs/driver"
)

// meeting is a connection to a server whose form is known.
type meeting struct {
	codec *codec
	stamp reflect.Type // of the field stamp; nil without one
	types idTypes      // of a server with transactions
	mask  uint64       // likewise: of the numbers that its fields tx hold
}

// otherWithin is how long a server may take to show that it has the other transport.
const otherWithin = time.Second

// connect connects to a server and checks that it has the form. Its error names the other
// transport if the server has that one: rpc.Accept waits for the end of what HTTP says, and
// an HTTP server for that of a gob.
func (l *lab) connect(ctx context.Context, server int, tcp bool) (met meeting, err error) {
	reached := false
	meet := func(tcp bool) func(net.Conn) error {
		return func(socket net.Conn) (err error) {
			reached = true
			met, err = l.form.meet(socket, tcp, l.options.Null)
			if errors.As(err, new(*driver.MisfitError)) {
				err = l.suggest(met.codec, server, err)
			}
			return err
		}
	}
	_, err = l.options.Connect(ctx, server, meet(tcp))
	var misfit *driver.MisfitError
	if err == nil || !reached || errors.As(err, &misfit) || broken(err) {
		return met, err
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), otherWithin)
	defer cancel()
	if socket, other := l.options.Connect(ctx, server, meet(!tcp)); other == nil {
		socket.Close()
	} else if !errors.As(other, &misfit) {
		return met, err
	}
	text := `it speaks net/rpc on TCP (rpc.Accept), not by HTTP: want transport = "tcp" in the target, or ?transport=tcp in its URL`
	if tcp {
		text = `it speaks net/rpc by HTTP, not on TCP: leave transport = "tcp" out`
	}
	return met, &driver.MisfitError{Server: l.options.Hosts[server], Text: text}
}

// broken reports whether an error says that the connection broke.
func broken(err error) bool {
	return errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.EPIPE)
}

// meet switches a connection to net/rpc, and checks that the server has the form's methods
// and fields. One without a store has them.
func (f *Form) meet(socket net.Conn, tcp, null bool) (met meeting, err error) {
	meter := &driver.Meter{Conn: socket}
	in, out := bufio.NewReaderSize(meter, 64<<10), bufio.NewWriterSize(meter, 64<<10)
	if !tcp {
		if err := switchHTTP(meter, in); err != nil {
			return met, err
		}
	}
	met.codec = &codec{meter, gob.NewDecoder(in), gob.NewEncoder(out), out}
	switch met.stamp = reflect.TypeFor[int64](); {
	case f.txn != nil && null:
		met.types, met.mask = f.nullTypes()
		return met, nil
	case f.txn != nil:
		met.types, met.mask, err = f.fit(met.codec)
		return met, err
	case null:
		return met, nil
	}
	if met.stamp, err = f.inspect(met.codec, f.get, f.getOps); err == nil && !f.mixed() {
		met.stamp, err = f.inspect(met.codec, f.put, f.putOps)
	}
	return met, err
}

// connected is what a server of net/rpc answers to CONNECT (net/rpc/server.go).
const connected = "200 Connected to Go RPC"

// switchHTTP switches a connection from HTTP to net/rpc, as rpc.DialHTTP does.
func switchHTTP(socket net.Conn, in *bufio.Reader) error {
	if _, err := io.WriteString(socket, "CONNECT "+rpc.DefaultRPCPath+" HTTP/1.0\n\n"); err != nil {
		return err
	}
	answer, err := http.ReadResponse(in, &http.Request{Method: http.MethodConnect})
	if err == nil && answer.Status != connected {
		err = fmt.Errorf("it answers %q", answer.Status)
	}
	if err != nil {
		return fmt.Errorf("connect to net/rpc by HTTP: %w: want a server with rpc.HandleHTTP and http.Serve", err)
	}
	return nil
}

// transactionFields are the fields by which servers with transactions tell them apart. A
// plain call has none, and what it writes is never committed.
var transactionFields = []string{"Txid", "TxID", "TxId", "TransactionID", "TransactionId", "TxnID", "TxnId", "Tx"}

// unlike is a type that no field of a server has.
type unlike = complex128

// refusedType is how encoding/gob refuses a field of another type (its decode.go).
var refusedType = regexp.MustCompile(`wrong type \((.+)\) for received field .*\.(\w+)$`)

// inspect checks that a server's method takes the form's operations, and returns the type
// of their field stamp. It sends arguments that no server decodes, so that none executes
// them: encoding/gob compares the fields' types in the order in which they are sent, and
// names the first that differs.
func (f *Form) inspect(c *codec, method, list string) (stamp reflect.Type, err error) {
	for _, stamp = range []reflect.Type{reflect.TypeFor[unlike](), reflect.TypeFor[int64](), reflect.TypeFor[uint64]()} {
		answer, err := f.ask(c, method, list, stamp)
		if err != nil {
			return nil, err
		}
		misfit := func(layout string, args ...any) error {
			return &driver.MisfitError{Text: method + " " + fmt.Sprintf(layout, args...)}
		}
		parts := refusedType.FindStringSubmatch(answer)
		switch {
		case parts == nil:
			return nil, misfit("does not take what the form sends, by fields such as %s: %q", f.key, answer)
		case slices.Contains(transactionFields, parts[2]):
			return nil, misfit("has the field %s: its operations are a transaction's, which a form without the setting tx does not commit", parts[2])
		case f.stamp == "":
			return nil, nil
		case parts[2] == f.stamp && stamp == reflect.TypeFor[uint64]():
			return nil, misfit("has a field %s of type %s: the setting stamp wants an int64 or uint64", f.stamp, parts[1])
		case parts[2] != f.stamp && stamp == reflect.TypeFor[unlike]():
			return nil, misfit("has no field %s, which the setting stamp names", f.stamp)
		case parts[2] != f.stamp:
			return stamp, nil
		}
	}
	return stamp, nil
}

// ask returns the error with which a server answers arguments that it cannot decode.
func (f *Form) ask(c *codec, method, list string, stamp reflect.Type) (answer string, err error) {
	var fields []reflect.StructField
	add := func(name string, of reflect.Type) {
		if name != "" && !slices.ContainsFunc(fields, func(f reflect.StructField) bool { return f.Name == name }) {
			fields = append(fields, field(name, of))
		}
	}
	for _, name := range transactionFields {
		add(name, reflect.TypeFor[unlike]())
	}
	outer := slices.Clone(fields)
	add(f.stamp, stamp)
	add(f.key, reflect.TypeFor[unlike]())
	if list != "" && list != f.key {
		fields, outer = outer, fields
		add(list, reflect.SliceOf(reflect.StructOf(outer)))
	}
	return c.ask(method, reflect.New(reflect.StructOf(fields)).Interface())
}

// ask returns the error with which a server answers a remote call.
func (c *codec) ask(method string, args any) (answer string, err error) {
	answer, _, err = c.exchange(method, args, nil)
	return answer, err
}

// exchange makes a remote call. It returns the server's error, and why the reply cannot be decoded.
func (c *codec) exchange(method string, args, reply any) (answer string, body, err error) {
	if err := c.WriteRequest(&rpc.Request{ServiceMethod: method}, args); err != nil {
		return "", nil, err
	}
	var head rpc.Response
	if err = errors.Join(c.out.Flush(), c.ReadResponseHeader(&head)); err == nil {
		if head.Error != "" {
			reply = nil
		}
		body = c.ReadResponseBody(reply)
	}
	if err == nil && (reply == nil || broken(body)) {
		err = body
	}
	if err != nil {
		return "", nil, fmt.Errorf("speak net/rpc: %w", err)
	}
	return head.Error, body, nil
}
