// Package labserver serves a store to the clients of a course, whose calls have one of the forms
// of the lab driver, and counts what they do.
//
//	labserver  the flag -lab, and the server
//	conn       a connection: read, apply, answer
//	count      what a connection's calls are
//	sum        what those of all connections are
package labserver

import (
	"fmt"
	"maps"
	"net"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"

	"kvlab/internal/cli"
	"kvlab/kvs"
	"kvlab/kvs/driver/lab"
	"kvlab/kvs/server"
	"kvlab/kvs/service"
	"kvlab/metrics"
	"kvlab/metrics/format"
)

// Row is the gateway of kvsserver.
var Row = server.Gateway{
	Protocol: "net/rpc", Flag: "lab",
	Usage: "serve the clients of a course, by net/rpc in `form` PRESET?setting=value&setting=value in place of kvlab's own protocol: the presets and settings of the target driver lab, and preload=N stores the keys 0 to N-1 first",
	Form:  func(text string) error { _, _, err := parse(text); return err },
	Open: func(s *service.Service, o server.GatewayOptions) (serve func(net.Conn) error, summarize func(*metrics.Summary)) {
		form, preload, _ := parse(o.Value) // Form has refused errors
		all := New(s, form, preload, o.Value)
		return all.Serve, func(summary *metrics.Summary) {
			all.Summarize(summary)
			o.Logf("%s", text(summary.Witness))
		}
	},
}

// mostPreloaded is a limit of preload: more keys of 128 bytes take more than a node's memory.
const mostPreloaded = 100_000_000

// parse returns the form of the flag's value, and how many keys are stored first.
func parse(text string) (form *lab.Form, preload int, err error) {
	preset, query, _ := strings.Cut(text, "?")
	values, err := url.ParseQuery(query)
	if err != nil {
		return nil, 0, err
	}
	settings := map[string]string{"preset": preset}
	for _, name := range slices.Sorted(maps.Keys(values)) {
		if _, twice := settings[name]; twice || len(values[name]) > 1 {
			return nil, 0, fmt.Errorf("%s is given twice", name)
		}
		settings[name] = values[name][0]
		if name == "preload" {
			if preload, err = strconv.Atoi(settings[name]); err != nil || preload < 0 || preload > mostPreloaded {
				return nil, 0, fmt.Errorf("preload=%s: want a number of keys, 0 to %d", settings[name], mostPreloaded)
			}
			delete(settings, name)
		} else if !slices.Contains(lab.Settings, name) {
			known := append(slices.Clone(lab.Settings), "preload")
			return nil, 0, fmt.Errorf("setting %q: want one of %s%s", name, strings.Join(known, ", "), cli.DidYouMean(name, "", known))
		}
	}
	if form, err = lab.NewForm(settings); err == nil && form.Transactional() {
		err = fmt.Errorf("preset %s has transactions: want one without them", preset)
	}
	return form, preload, err
}

// text says the most of a witness.
func text(w *metrics.Witness) string {
	if w.Calls == 0 {
		return "no client has sent an operation"
	}
	most := 0
	for _, size := range w.Sizes {
		most = max(most, size.Most)
	}
	return fmt.Sprintf("the clients sent %s on %s, %.2f %% of them GETs; %.1f operations a call, %d at most; %s in flight on a connection at most; left %s unanswered, and repeated %d",
		format.Plural(w.Ops(), "operation"), format.Plural(w.Connections, "connection"), 100*float64(w.Gets)/float64(w.Ops()),
		float64(w.Ops())/float64(w.Calls), most, format.Plural(w.InFlight, "call"), format.Plural(w.Unanswered, "call"), w.Repeats)
}

// Peer is the name of all clients in the service's counts.
const Peer = "lab"

// Server serves a form's clients, and counts. It is safe for concurrent use.
type Server struct {
	form    *lab.Form
	text    string // of the flag
	service *service.Service
	recent  [1 << 18]atomic.Uint64 // digests of calls, by their last bits
	seen    [distinct / 64]atomic.Uint64
	present atomic.Int64 // calls of which a part has arrived, and that are not executed

	mu  sync.Mutex
	sum sum // of closed connections; guarded by mu
}

// New returns a server in front of a service, in which it stores the course's value under a
// number of keys.
func New(s *service.Service, form *lab.Form, preload int, text string) *Server {
	server := &Server{form: form, text: text, service: s}
	if preload > 0 {
		server.preload(preload)
	}
	return server
}

// value is the value that the course's client writes.
var value = []byte(strings.Repeat("x", 128))

// preload stores the value under the keys 0 to n-1. The operations are no client's.
func (s *Server) preload(n int) {
	c := s.service.OpenThirdParty()
	defer c.Close()
	var reply kvs.Reply
	var ops []kvs.Op
	for key := range n {
		ops = append(ops, kvs.Op{Kind: kvs.Put, Key: strconv.AppendInt(nil, int64(key), 10), Value: value})
		if len(ops) == chunk || key == n-1 {
			_ = c.Apply(ops, &reply) // an engine in memory stores all; on disk, the run fails at its commit
			ops = ops[:0]
		}
	}
}

// chunk is how many operations are applied at a time: their reply fits into one of the service,
// however large the values are.
const chunk = kvs.MaxBody / (kvs.MaxValueLen + 8)

// Serve serves a client until the connection ends, and closes it. It returns nil when the client
// ends it.
func (s *Server) Serve(socket net.Conn) error {
	served, err := s.form.Serve(socket)
	if err == nil {
		c := newConn(s, socket, served)
		err = c.run()
		s.mu.Lock()
		s.sum.add(&c.count)
		s.mu.Unlock()
	}
	_ = socket.Close() // what ended the connection is known
	if err != nil {
		return fmt.Errorf("client %s of -lab %s: %w", socket.RemoteAddr(), s.text, err)
	}
	return nil
}

// Summarize adds what the connections did that have ended.
func (s *Server) Summarize(summary *metrics.Summary) {
	s.mu.Lock()
	defer s.mu.Unlock()
	w := s.sum.witness(s.text)
	for i := range s.seen {
		w.Distinct += ones(s.seen[i].Load())
	}
	summary.Witness = w
}
