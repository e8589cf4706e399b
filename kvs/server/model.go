package server

import (
	"io"
	"net"
	"slices"
	"strconv"
	"strings"

	"kvlab/internal/cli"
	"kvlab/kvs/service"
	"kvlab/kvs/wire"
)

// Model is an execution model: it decides which goroutine serves a connection and which
// executes its calls. Calls of one connection are executed in their order, one at a time.
type Model interface {
	// Listener returns a listener whose connections Serve takes.
	Listener(net.Listener) net.Listener

	// Serve serves a connection until its end, and may return before that. It calls ended
	// once, with the last error of conn; ended closes the connection.
	Serve(socket net.Conn, conn *wire.Conn, ended func(error))

	// Stop ends the model, after its last connection has ended. It returns a line for
	// the log, or "".
	Stop() string
}

// ModelRow describes a model.
type ModelRow struct {
	Name        string // of a value of -model, up to a colon or as a whole
	Description string
	Form        string // of the flag's value

	// Open returns a function that makes the model. The argument follows the name and a
	// colon; it is "" without one. Open returns nil if the argument is wrong.
	Open func(argument string) func() (Model, error)
}

// Label returns the row's name and description.
func (r ModelRow) Label() (name, description string) { return r.Name, r.Description }

// models are the models that the program knows, the default first.
var models = []ModelRow{
	{"conn", "each connection's goroutine executes its calls", "conn", NoArgument(func() (Model, error) { return PerConn, nil })},
	{"pool", "pool:N[,QUEUE] executes calls in N workers behind a queue", "pool:N or pool:N,QUEUE, each from 1 to 65536", openPool},
}

// LinkModels adds models to those that the program knows. A main calls it before anything
// else.
func LinkModels(more ...[]ModelRow) { models = append(models, slices.Concat(more...)...) }

// NoArgument returns the Open of a model without an argument.
func NoArgument(open func() (Model, error)) func(string) func() (Model, error) {
	return func(argument string) func() (Model, error) {
		if argument != "" {
			return nil
		}
		return open
	}
}

// findModel returns a function that makes the model of a flag's value. The error names the
// flag and the right form.
func findModel(text string) (func() (Model, error), error) {
	name, argument, colon := strings.Cut(text, ":")
	if slices.Contains(cli.Names(models), text) {
		name, argument, colon = text, "", false
	}
	row, err := cli.Find("-model", name, models)
	if err != nil {
		return nil, err
	}
	form := row.Form
	for _, r := range models {
		if strings.HasPrefix(r.Name, name+":") {
			form += ", or " + r.Form
		}
	}
	open := row.Open(argument)
	return open, cli.Want(open != nil && colon == (argument != ""), "-model", text, "%s", form)
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

// ParseModel parses N and an optional QUEUE, each from 1 to 65536. queue is 0 if it is not
// there.
func ParseModel(argument string) (n, queue int, ok bool) {
	first, second, comma := strings.Cut(argument, ",")
	n, err := strconv.Atoi(first)
	if comma && err == nil {
		queue, err = strconv.Atoi(second)
		ok = queue >= 1
	}
	return n, queue, err == nil && n >= 1 && n <= mostInModel && ok == comma && queue <= mostInModel
}

// Call is a connection's current call.
type Call struct {
	wire.Request
	Conn *wire.Conn
	done chan struct{} // of a pool: receives when a worker has executed the call
}

// Execute applies the call and fills in its reply.
func (c *Call) Execute() { c.Err = c.Conn.Service.Answer(c.Seq, &c.Batch, &c.Reply) }

// Serve waits for the connection's next request, has it executed, and replies.
func (c *Call) Serve(e Executor) error {
	if err := c.Conn.Next(&c.Request); err != nil {
		return err
	}
	e.Execute(c)
	return c.Conn.Reply(&c.Request)
}

// Executor executes the calls of connections. It is safe for concurrent use.
type Executor interface {
	Execute(*Call) // returns when the call is executed
	Stop() string  // as Model has it
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
	m.Serve(socket, conn, func(err error) {
		_ = conn.Close() // what ended the connection is known
		if err == io.EOF {
			err = nil
		}
		ended(err)
	})
}
