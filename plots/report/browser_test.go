package report

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// browser is a headless Chromium that is spoken to in the DevTools protocol
// (https://chromedevtools.github.io/devtools-protocol/) over a pair of pipes: a
// JSON object each way, with a NUL after it. A library for it would bring some
// hundred thousand generated lines for the dozen calls that the tests make.
type browser struct {
	t       *testing.T
	to      *os.File
	from    chan message
	calls   int
	session string
	seen    []message // events, in their order
}

// message is a call's answer, or an event.
type message struct {
	ID     int             `json:"id"`
	Method string          `json:"method"`
	Params json.RawMessage `json:"params"`
	Result json.RawMessage `json:"result"`
	Error  *struct {
		Message string `json:"message"`
	} `json:"error"`
}

// patience is how long a browser may take for anything, on a very busy machine.
const patience = 2 * time.Minute

// startBrowser starts a browser with a new profile and one tab, and ends it with
// the test. It skips the test unless KVLAB_CI=1 asks for browsers; then a
// missing browser is a failure.
func startBrowser(t *testing.T) *browser {
	t.Helper()
	if os.Getenv("KVLAB_CI") != "1" {
		t.Skip("a browser takes 20 s: set KVLAB_CI=1 to run it")
	}
	program := ""
	for _, name := range []string{"chromium-headless-shell", "chromium", "google-chrome"} {
		if found, err := exec.LookPath(name); err == nil {
			program = found
			break
		}
	}
	if program == "" {
		t.Fatal("no chromium")
	}
	profile, err := os.MkdirTemp("", "kvlab-browser-")
	if err != nil {
		t.Fatal(err)
	}
	commands, to := pipe(t)
	from, answers := pipe(t)
	c := exec.Command(program, "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
		"--disable-component-update", "--disable-sync", "--disable-dev-shm-usage", "--user-data-dir="+profile, "--remote-debugging-pipe", "about:blank")
	c.ExtraFiles = []*os.File{commands, answers} // descriptors 3 and 4
	c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	commands.Close()
	answers.Close()
	b := &browser{t: t, to: to, from: make(chan message, 1000)}
	t.Cleanup(func() {
		_ = syscall.Kill(-c.Process.Pid, syscall.SIGKILL) // its own group, which it leads
		_ = c.Wait()
		to.Close()
		for range b.from { // until the reader is at the end
		}
		from.Close()
		_ = os.RemoveAll(profile) // helpers that outlive it by a moment may still write there
	})
	go b.read(from)
	var target struct{ TargetID string }
	b.call("Target.createTarget", map[string]any{"url": "about:blank"}, &target)
	var attached struct{ SessionID string }
	b.call("Target.attachToTarget", map[string]any{"targetId": target.TargetID, "flatten": true}, &attached)
	b.session = attached.SessionID
	for _, domain := range []string{"Page", "Runtime", "Log", "Network"} {
		b.call(domain+".enable", nil, nil)
	}
	return b
}

// pipe returns the two ends of a pipe.
func pipe(t *testing.T) (read, write *os.File) {
	t.Helper()
	read, write, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	return read, write
}

// read passes on what the browser says, until it is silent for good.
func (b *browser) read(from *os.File) {
	defer close(b.from)
	in := bufio.NewReader(from)
	for {
		text, err := in.ReadBytes(0)
		if err != nil {
			return
		}
		var m message
		if err := json.Unmarshal(bytes.TrimSuffix(text, []byte{0}), &m); err != nil {
			m = message{Error: &struct {
				Message string `json:"message"`
			}{err.Error()}}
		}
		b.from <- m
	}
}

// next is the next message.
func (b *browser) next(waiting string) message {
	b.t.Helper()
	select {
	case m, ok := <-b.from:
		if !ok {
			b.t.Fatalf("the browser has ended, before %s", waiting)
		}
		return m
	case <-time.After(patience):
		b.t.Fatalf("the browser has not answered for %v: %s", patience, waiting)
	}
	return message{}
}

// call calls a method and puts its result into result, unless that is nil.
func (b *browser) call(method string, params, result any) {
	b.t.Helper()
	b.calls++
	text, err := json.Marshal(struct {
		ID      int    `json:"id"`
		Session string `json:"sessionId,omitempty"`
		Method  string `json:"method"`
		Params  any    `json:"params,omitempty"`
	}{b.calls, b.session, method, params})
	if err != nil {
		b.t.Fatal(err)
	}
	if _, err := b.to.Write(append(text, 0)); err != nil {
		b.t.Fatalf("%s: %v", method, err)
	}
	for {
		m := b.next(method)
		switch {
		case m.Error != nil:
			b.t.Fatalf("%s: %s", method, m.Error.Message)
		case m.ID == b.calls:
			if result != nil {
				if err := json.Unmarshal(m.Result, result); err != nil {
					b.t.Fatalf("%s: %v", method, err)
				}
			}
			return
		case m.Method != "":
			b.seen = append(b.seen, m)
		}
	}
}

// view is how a page is looked at.
type view struct {
	name   string
	width  int
	scheme string // of colours: light or dark
	media  string // screen or print
}

// open loads a file as it is seen in a view, and forgets the events before.
func (b *browser) open(file string, v view) {
	b.t.Helper()
	b.call("Emulation.setDeviceMetricsOverride", map[string]any{"width": v.width, "height": 844, "deviceScaleFactor": 1, "mobile": v.width < 600}, nil)
	b.call("Emulation.setEmulatedMedia", map[string]any{"media": v.media, "features": []map[string]string{{"name": "prefers-color-scheme", "value": v.scheme}}}, nil)
	b.seen = nil
	path, err := filepath.Abs(file)
	if err != nil {
		b.t.Fatal(err)
	}
	b.call("Page.navigate", map[string]any{"url": (&url.URL{Scheme: "file", Path: path}).String()}, nil)
	for !b.has("Page.loadEventFired") {
		if m := b.next("the page is loaded"); m.Method != "" {
			b.seen = append(b.seen, m)
		}
	}
}

// has reports whether there was an event of a kind.
func (b *browser) has(method string) bool {
	for _, m := range b.seen {
		if m.Method == method {
			return true
		}
	}
	return false
}

// eval evaluates an expression in the page and puts its value into result.
func (b *browser) eval(expression string, result any) {
	b.t.Helper()
	var got struct {
		Result struct {
			Value json.RawMessage
		}
		ExceptionDetails json.RawMessage
	}
	b.call("Runtime.evaluate", map[string]any{"expression": expression, "returnByValue": true, "awaitPromise": true, "userGesture": true}, &got)
	if got.ExceptionDetails != nil {
		b.t.Fatalf("%s\nthrows %s", expression, got.ExceptionDetails)
	}
	if result != nil {
		if err := json.Unmarshal(got.Result.Value, result); err != nil {
			b.t.Fatalf("%s: %v", expression, err)
		}
	}
}

// complaints are what went wrong in the page that was opened: words on the
// console, exceptions, what the browser logged, and requests for anything but
// the page itself.
func (b *browser) complaints() (all []string) {
	pages := 0
	for _, m := range b.seen {
		switch m.Method {
		case "Runtime.consoleAPICalled", "Runtime.exceptionThrown", "Log.entryAdded":
			all = append(all, fmt.Sprintf("%s: %.300s", m.Method, m.Params))
		case "Network.requestWillBeSent":
			var sent struct{ Request struct{ URL string } }
			if err := json.Unmarshal(m.Params, &sent); err != nil {
				b.t.Fatal(err)
			}
			if strings.HasPrefix(sent.Request.URL, "file:") {
				pages++
			}
			if pages > 1 || !strings.HasPrefix(sent.Request.URL, "file:") {
				all = append(all, "request for "+sent.Request.URL)
			}
		}
	}
	return all
}
