// Package browsertest shows pages to a real browser, for tests.
package browsertest

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

// Browser is a headless Chromium that is spoken to in the DevTools protocol
// (https://chromedevtools.github.io/devtools-protocol/) over a pair of pipes: a
// JSON object each way, with a NUL after it. A library for it would bring some
// hundred thousand generated lines for the dozen calls that the tests make.
type Browser struct {
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
	Error  *failure        `json:"error"`
}

type failure struct {
	Message string `json:"message"`
}

// patience is how long a browser may take for anything, on a very busy machine.
const patience = 2 * time.Minute

// Start starts a browser with a new profile and one tab, and ends it with
// the test. It skips the test unless KVLAB_CI=1 asks for browsers; then a
// missing browser is a failure.
func Start(t *testing.T) *Browser {
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
	commands, to, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	from, answers, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	c := exec.Command(program, "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
		"--disable-component-update", "--disable-sync", "--disable-dev-shm-usage", "--user-data-dir="+profile, "--remote-debugging-pipe", "about:blank")
	c.ExtraFiles = []*os.File{commands, answers} // descriptors 3 and 4
	c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	commands.Close()
	answers.Close()
	b := &Browser{t: t, to: to, from: make(chan message, 1000)}
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
	b.Call("Target.createTarget", map[string]any{"url": "about:blank"}, &target)
	var attached struct{ SessionID string }
	b.Call("Target.attachToTarget", map[string]any{"targetId": target.TargetID, "flatten": true}, &attached)
	b.session = attached.SessionID
	for _, domain := range []string{"Page", "Runtime", "Log", "Network"} {
		b.Call(domain+".enable", nil, nil)
	}
	return b
}

// read passes on what the browser says, until it is silent for good.
func (b *Browser) read(from *os.File) {
	defer close(b.from)
	in := bufio.NewReader(from)
	for {
		text, err := in.ReadBytes(0)
		if err != nil {
			return
		}
		var m message
		if err := json.Unmarshal(bytes.TrimSuffix(text, []byte{0}), &m); err != nil {
			m.Error = &failure{err.Error()}
		}
		b.from <- m
	}
}

// next returns the next message.
func (b *Browser) next(waiting string) message {
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

// Call calls a method and puts its result into result, unless that is nil.
func (b *Browser) Call(method string, params, result any) {
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

// View is how a page is looked at.
type View struct {
	Name   string
	Width  int
	Scheme string // of colours: light or dark
	Media  string // screen or print
}

// Views are how pages are read: at a desk, on a phone, in the dark, and on paper (of A4
// between margins of 15 mm).
var Views = []View{
	{"desktop", 1280, "light", "screen"},
	{"phone", 390, "light", "screen"},
	{"dark", 390, "dark", "screen"},
	{"desktop-dark", 1280, "dark", "screen"},
	{"print", 680, "light", "print"},
}

// OpenFile opens a file as Open does.
func (b *Browser) OpenFile(file string, v View) {
	b.t.Helper()
	path, err := filepath.Abs(file)
	if err != nil {
		b.t.Fatal(err)
	}
	b.Open((&url.URL{Scheme: "file", Path: path}).String(), v)
}

// Open loads a page as it is seen in a view, and forgets the events before.
func (b *Browser) Open(address string, v View) {
	b.t.Helper()
	b.Call("Emulation.setDeviceMetricsOverride", map[string]any{"width": v.Width, "height": 844, "deviceScaleFactor": 1, "mobile": v.Width < 600}, nil)
	b.Call("Emulation.setEmulatedMedia", map[string]any{"media": v.Media, "features": []map[string]string{{"name": "prefers-color-scheme", "value": v.Scheme}}}, nil)
	b.seen = nil
	b.Call("Page.navigate", map[string]any{"url": address}, nil)
	for !b.has("Page.loadEventFired") {
		if m := b.next("the page is loaded"); m.Method != "" {
			b.seen = append(b.seen, m)
		}
	}
}

// has reports whether there was an event of a kind.
func (b *Browser) has(method string) bool {
	return slices.ContainsFunc(b.seen, func(m message) bool { return m.Method == method })
}

// Eval evaluates an expression in the page and puts its value into result.
func (b *Browser) Eval(expression string, result any) {
	b.t.Helper()
	var got struct {
		Result struct {
			Value json.RawMessage
		}
		ExceptionDetails json.RawMessage
	}
	b.Call("Runtime.evaluate", map[string]any{"expression": expression, "returnByValue": true, "awaitPromise": true, "userGesture": true}, &got)
	if got.ExceptionDetails != nil {
		b.t.Fatalf("%s\nthrows %s", expression, got.ExceptionDetails)
	}
	if result != nil {
		if err := json.Unmarshal(got.Result.Value, result); err != nil {
			b.t.Fatalf("%s: %v", expression, err)
		}
	}
}

// Picture returns a picture, as PNG, of a part of the page in pixels, made larger by scale.
func (b *Browser) Picture(left, top, width, height, scale float64) []byte {
	b.t.Helper()
	var picture struct{ Data []byte }
	b.Call("Page.captureScreenshot", map[string]any{"captureBeyondViewport": true,
		"clip": map[string]any{"x": left, "y": top, "width": width, "height": height, "scale": scale}}, &picture)
	return picture.Data
}

// Complaints returns what went wrong in the page that was opened: words on the console,
// exceptions, what the browser logged, and requests for anything but the page itself and
// addresses that begin with one of own.
func (b *Browser) Complaints(own ...string) (all []string) {
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
			if slices.ContainsFunc(own, func(address string) bool { return strings.HasPrefix(sent.Request.URL, address) }) {
				continue
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
