package faults

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"
)

// A run that survives a fault may take longRun in addition to within.
const longRun = 30 * time.Second

// within bounds the time from a fault to the end: 15 s on a machine that does nothing else,
// which a long test wants, and much longer on one that is slow or busy.
var within = map[bool]time.Duration{true: 15 * time.Second, false: time.Minute}[long()]

// pair is two hosts that one launcher at a time uses.
type pair struct {
	server, client *host
	ssh            string // for --ssh-config
}

// state returns the state of both hosts.
func (p *pair) state() string { return p.server.state() + p.client.state() }

// launch is one launcher's process.
type launch struct {
	*exec.Cmd
	out    string // of --out
	temp   string // its folder for temporary files
	mark   string // in the environment of all that it starts here
	before string // the hosts' state
	said   output
	ended  chan struct{} // closed when it has ended
}

// output is a launcher's output. It is safe for concurrent use.
type output struct {
	mu   sync.Mutex
	text bytes.Buffer // guarded by mu
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.Write(p)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.String()
}

// launch starts a run of a server and a client on the pair.
func (p *pair) launch(t *testing.T, out string, args ...string) *launch {
	t.Helper()
	hosts := filepath.Join(t.TempDir(), "hosts")
	text := fmt.Sprintf("%s addr=%s\n%s addr=%s\n", p.server.name, p.server.data(), p.client.name, p.client.data())
	if err := os.WriteFile(hosts, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	before := p.state()
	l := newLaunch(t, out, append([]string{"--hosts", hosts, "--ssh-config", p.ssh}, args...)...)
	l.before = before
	return l
}

// newLaunch starts a launcher.
func newLaunch(t *testing.T, out string, args ...string) *launch {
	t.Helper()
	l := &launch{out: out, temp: t.TempDir(), ended: make(chan struct{})}
	l.mark = "KVLAB_FAULTS_ROW=" + l.temp
	l.Cmd = exec.Command(filepath.Join(os.Getenv(rootVariable), "bin", "kvscluster"), append([]string{"--no-ceiling", "--out", out}, args...)...)
	l.Env = append(os.Environ(), l.mark, "TMPDIR="+l.temp)
	l.Stdout, l.Stderr = &l.said, &l.said
	if err := l.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		l.Wait()
		close(l.ended)
	}()
	t.Cleanup(func() {
		l.Process.Kill()
		<-l.ended
		if t.Failed() {
			t.Logf("the launcher said:\n%s", l.said.String())
		}
	})
	return l
}

// reach waits until a node's log contains a text.
func (l *launch) reach(t *testing.T, h *host, program, text string) {
	t.Helper()
	file := filepath.Join(l.out, "latest", program+"-"+h.name+".log")
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); time.Sleep(10 * time.Millisecond) {
		if log, err := os.ReadFile(file); err == nil && strings.Contains(string(log), text) {
			return
		}
		select {
		case <-l.ended:
			t.Fatalf("the launcher has ended before %s had %q", file, text)
		default:
		}
	}
	t.Fatalf("%s has no %q", file, text)
}

// see waits until a fault's run is over: the launcher has ended, or none of its nodes
// runs, or a hanging node has dumped its stacks. It returns the time since the fault.
func (l *launch) see(t *testing.T, p *pair, fault time.Time) time.Duration {
	t.Helper()
	for deadline := fault.Add(2*within + longRun); time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
		select {
		case <-l.ended:
			return time.Since(fault)
		default:
		}
		for _, program := range []string{"kvsserver-" + p.server.name, "kvsclient-" + p.client.name} {
			log, _ := os.ReadFile(filepath.Join(l.out, "latest", program+".log"))
			if bytes.Contains(log, []byte("\ngoroutine ")) {
				return time.Since(fault)
			}
		}
	}
	return time.Since(fault)
}

// end waits for the launcher's end. It must come soon after a fault, or after the length of
// a run that survives the fault.
func (l *launch) end(t *testing.T, fault time.Time, length time.Duration) {
	t.Helper()
	select {
	case <-l.ended:
	case <-time.After(time.Until(fault.Add(2*within + length))):
		t.Fatalf("the launcher has not ended %v after the fault", 2*within+length)
	}
	took := time.Since(fault)
	t.Logf("over after %.1f s: %s", took.Seconds(), l.verdict())
	if took > within+length {
		t.Errorf("over %v after the fault, want at most %v", took, within+length)
	}
}

var verdictLine = regexp.MustCompile(`(?m)^verdict (.*)\n\z`)

// verdict returns the last line, "" without one.
func (l *launch) verdict() string {
	if match := verdictLine.FindStringSubmatch(l.said.String()); match != nil {
		return match[1]
	}
	return ""
}

// checkLeft waits until nothing of the run is left: no process here or on the hosts, no
// mount, no file except the run's folder and the programs' copies.
func (l *launch) checkLeft(t *testing.T, p *pair, fault time.Time) {
	t.Helper()
	var left string
	for ; ; time.Sleep(20 * time.Millisecond) {
		left = l.left(p)
		if left == "" {
			t.Logf("nothing left after %.1f s", time.Since(fault).Seconds())
			return
		}
		if time.Since(fault) > within {
			t.Errorf("left behind after %v:\n%s", within, left)
			return
		}
	}
}

// left lists what is new since the beginning; "" for nothing.
func (l *launch) left(p *pair) string {
	var b strings.Builder
	for line := range strings.Lines(p.state()) {
		if !strings.Contains(l.before, line) {
			b.WriteString(line)
		}
	}
	b.WriteString(marked(l.mark))
	b.WriteString(l.files())
	return b.String()
}

// files lists the launcher's files on this machine, without the runs' folders.
func (l *launch) files() string {
	var b strings.Builder
	for folder, own := range map[string]func(string) bool{
		l.temp: func(string) bool { return false },
		l.out:  func(name string) bool { return kept.MatchString(name) },
	} {
		entries, _ := os.ReadDir(folder)
		for _, entry := range entries {
			if !own(entry.Name()) {
				fmt.Fprintf(&b, "file %s\n", filepath.Join(folder, entry.Name()))
			}
		}
	}
	return b.String()
}

// kept matches what is in the folder of all runs: the runs' folders, and their index.
var kept = regexp.MustCompile(`^(latest|index\.html|\.index.*\.json|\d{8}-\d{6})$`)

// marked lists the processes that inherited a mark.
func marked(mark string) string {
	var b strings.Builder
	for _, pid := range processes() {
		environ, _ := os.ReadFile(fmt.Sprintf("/proc/%d/environ", pid))
		if pid != os.Getpid() && bytes.Contains(append(environ, 0), []byte(mark+"\x00")) {
			words, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
			fmt.Fprintf(&b, "process %d %q\n", pid, bytes.ReplaceAll(words, []byte{0}, []byte{' '}))
		}
	}
	return b.String()
}
