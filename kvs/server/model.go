package server

import (
	"io"
	"net"
	"strconv"
	"strings"

	"kvlab/internal/cli"
	"kvlab/kvs/service"
	"kvlab/kvs/wire"
)

// Model is an execution model: it decides which goroutine serves a connection and which
// executes its calls. Calls of one connection are executed in their order, one at a time.
type Model interface {
	// Listener returns a listener whose connections serve takes.
	Listener(net.Listener) net.Listener

	// serve serves a connection until its end, and may return before that. It then closes
	// the connection and calls ended once, with nil if the client has closed it between
	// two calls.
	serve(socket net.Conn, conn *wire.Conn, ended func(error))

	// Stop ends the model, after its last connection has ended. It returns a line for
	// the log, or "".
	Stop() string
}

// modelRow describes a model.
type modelRow struct {
	name        string
	description string
	form        string // of the flag's value

	// open returns what makes the model. Its argument follows the name and a colon; it is
	// "" without one. open returns nil if the argument is wrong.
	open func(argument string) func() (Model, error)
}

// Label returns the name and the description.
func (r modelRow) Label() (name, description string) { return r.name, r.description }

// models are all models, the default first.
var models = []modelRow{
	{"conn", "each connection's goroutine executes its calls", "conn", noArgument(func() (Model, error) { return PerConn, nil })},
	{"bounded", "the same, but bounded:N executes at most N calls at once", "bounded:N, N from 1 to 65536", openBounded},
	{"pool", "pool:N[,QUEUE] executes calls in N workers behind a queue, pool:auto in as many as the load needs", "pool:N or pool:N,QUEUE, each from 1 to 65536, or pool:auto", openPool},
	{"hybrid", "executes batches that only read as conn, and the others as pool:64 or, with hybrid:N[,QUEUE], as pool:N[,QUEUE]", "hybrid, or hybrid:N or hybrid:N,QUEUE, each from 1 to 65536", openHybrid},
	{"parked", "as conn, but a connection without a request has no goroutine and no buffers", "parked", noArgument(func() (Model, error) { return newParked() })},
}

// noArgument opens a model without an argument.
func noArgument(open func() (Model, error)) func(string) func() (Model, error) {
	return func(argument string) func() (Model, error) {
		if argument != "" {
			return nil
		}
		return open
	}
}

// findModel returns what makes the model of a flag's value. The error names the flag and
// the right form.
func findModel(text string) (func() (Model, error), error) {
	name, argument, colon := strings.Cut(text, ":")
	row, err := cli.Find("-model", name, models)
	if err != nil {
		return nil, err
	}
	open := row.open(argument)
	return open, cli.Want(open != nil && colon == (argument != ""), "-model", text, "%s", row.form)
}

// OpenModel returns the model of a value of -model.
func OpenModel(text string) (Model, error) {
	open, err := findModel(text)
	if err != nil {
		return nil, err
	}
	return open()
}

// mostInModel is the largest number in a value of -model.
const mostInModel = 1 << 16

// numbers parses N and an optional QUEUE, which is 0 if it is not there.
func numbers(argument string) (n, queue int, ok bool) {
	first, second, comma := strings.Cut(argument, ",")
	n, err := strconv.Atoi(first)
	if comma && err == nil {
		queue, err = strconv.Atoi(second)
		ok = queue >= 1
	}
	return n, queue, err == nil && n >= 1 && n <= mostInModel && ok == comma && queue <= mostInModel
}

// call is a connection's current call.
type call struct {
	wire.Request
	conn *wire.Conn
	done chan struct{} // of a pool: receives when a worker has executed the call
}

// execute applies the call and fills in its reply.
func (c *call) execute() { c.Err = c.conn.Service.Answer(c.Seq, &c.Batch, &c.Reply) }

// serve waits for the connection's next request, has it executed, and replies.
func (c *call) serve(e executor) error {
	if err := c.conn.Next(&c.Request); err != nil {
		return err
	}
	e.execute(c)
	return c.conn.Reply(&c.Request)
}

// executor executes the calls of connections. It is safe for concurrent use.
type executor interface {
	execute(*call) // returns when the call is executed
	Stop() string  // as Model has it
}

// end closes a connection after the last error of its calls, and calls ended.
func end(conn *wire.Conn, err error, ended func(error)) {
	_ = conn.Close() // what ended the connection is known
	if err == io.EOF {
		err = nil
	}
	ended(err)
}

// Serve serves one client over socket, of a Listener of the model, until the connection
// ends, and closes it. It returns nil when the client has closed the connection between
// two calls.
func Serve(socket net.Conn, o wire.Options, s *service.Service, m Model) error {
	ended := make(chan error, 1)
	begin(socket, o, s, m, func(err error) { ended <- err })
	return <-ended
}

// begin is Serve, but may return before the end. It calls ended once, with Serve's error.
func begin(socket net.Conn, o wire.Options, s *service.Service, m Model, ended func(error)) {
	conn, err := wire.Accept(socket, o, s)
	if err != nil {
		ended(err)
		return
	}
	m.serve(socket, conn, ended)
}
