package server

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"kvlab/kvs/driver"
	"kvlab/kvs/node"
	"kvlab/kvs/target"
	"kvlab/metrics"
)

// storeWord makes the test binary a foreign store: its arguments are a host, a port and
// the folder that it runs in.
const storeWord = "test-store"

// hostWord makes it kvsserver with the store's driver.
const hostWord = "test-host"

// runStore answers each connection with the store's counts. It counts the connections as
// gets; after 5 it forgets them if it is told to.
func runStore(host, port, dir string, mode string) error {
	if here, err := os.Getwd(); err != nil || here != dir {
		return fmt.Errorf("runs in %s, want %s: %v", here, dir, err)
	}
	want := "secret secret\nplain\n"
	if mode == "alone" { // without a launcher
		want = "plain\n"
	}
	file := filepath.Join(dir, "kvlab.conf")
	info, err := os.Stat(file)
	if text, unread := os.ReadFile(file); err != nil || unread != nil || info.Mode() != 0o600 || string(text) != want {
		return fmt.Errorf("config %q, %v, want %q: %v", text, info, want, err)
	}
	fmt.Println("hello, 12 ops/s")
	if mode == "breaks" {
		return errors.New("no such setting")
	}
	socket, err := net.Listen("tcp", net.JoinHostPort(host, port))
	if err != nil {
		return err
	}
	for n := uint64(1); ; n++ {
		conn, err := socket.Accept()
		if err != nil {
			return err
		}
		counts := metrics.StoreCounts{Instance: fmt.Sprint(os.Getpid()), Counts: metrics.Counts{Gets: n}, Version: "1.2"}
		if mode == "forgets" && n > 5 {
			counts.Counts.Gets = 0
		}
		if err := errors.Join(json.NewEncoder(conn).Encode(counts), conn.Close()); err != nil {
			return err
		}
	}
}

// storeDriver speaks to runStore.
type storeDriver struct{ o driver.Options }

func (d storeDriver) Counts(ctx context.Context, server int) (c metrics.StoreCounts, err error) {
	conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", d.o.Hosts[server])
	if err != nil {
		return c, err
	}
	defer conn.Close()
	return c, json.NewDecoder(conn).Decode(&c)
}

func (storeDriver) Dial(context.Context, int, int) (driver.Conn, driver.Server, error) {
	return nil, driver.Server{}, errors.New("not needed")
}
func (storeDriver) Explain(context.Context, int, error) error { return nil }
func (storeDriver) Info() driver.Info                         { return driver.Info{} }
func (storeDriver) Close() error                              { return nil }

var storeRow = driver.Row{Name: "test", Check: func(driver.Options, driver.Use) error { return nil },
	Open: func(o driver.Options, _ driver.Use) (driver.Driver, error) { return storeDriver{o}, nil }}

// storeTarget returns the target of runStore.
func storeTarget(mode string) string {
	text, _ := json.Marshal(target.Target{Driver: "test", Run: fmt.Sprintf("%s %s {host} {port} {dir} {config} %s", os.Args[0], storeWord, mode), Config: "secret {token}\nplain\n"}) // strings alone
	return string(text)
}

// hosted returns a server under a launcher with the store as its target.
func hosted(t *testing.T, mode string) *led {
	t.Helper()
	return leadProgram(t, Program([]driver.Row{storeRow}), "-node", "node0", "-port", "0", "-target", storeTarget(mode))
}

// A host starts the store, says where it is, samples its process, reports what it counts,
// and leaves nothing of it.
func TestHost(t *testing.T) {
	t.Parallel()
	s := hosted(t, "")
	config := s.next(t, func(e node.Event) bool { return e.Record != nil && e.Record.Config != nil }).Record.Config
	can := config.Capabilities
	if can.Driver != "test" || can.Version != "1.2" || can.Counts != metrics.CountsExact || !can.Store {
		t.Errorf("capabilities %+v", can)
	}
	if _, own, err := node.ProgramOf(os.Getpid()); can.Binary != own || err != nil { // the store is this program, too
		t.Errorf("the store's program is %s, want %s, %v", can.Binary, own, err)
	}
	ready := s.next(t, is(node.Ready)).Addr
	counts, err := storeDriver{driver.Options{Hosts: []string{ready}}}.Counts(t.Context(), 0)
	if err != nil {
		t.Fatal(err)
	}
	s.command(t, node.Command{Do: node.Phase, Phase: metrics.Window})
	s.next(t, intervalOf(metrics.Window))
	s.command(t, node.Command{Do: node.Phase, Phase: metrics.Drain})
	s.command(t, node.Command{Do: node.Stop})
	summary := s.next(t, func(e node.Event) bool { return e.Record != nil && e.Record.Summary != nil }).Record.Summary
	w := summary.Store
	if w == nil || w.Fault != "" || w.After.Instance != counts.Instance || w.Executed() != summary.Total || summary.Total.Gets < 2 {
		t.Errorf("witness %+v, total %+v", w, summary.Total)
	}
	if summary.WindowLengthS <= 0 || summary.InWindow.Gets == 0 {
		t.Errorf("window of %v s with %+v", summary.WindowLengthS, summary.InWindow)
	}
	if status := <-s.exited; status != 0 {
		t.Fatalf("status %d: %s", status, &s.stderr)
	}
	if conn, err := net.Dial("tcp", ready); !errors.Is(err, syscall.ECONNREFUSED) {
		t.Errorf("the store still answers: %v %v", conn, err)
	}
}

// A counter that goes backwards is in the witness.
func TestHostSeesAReset(t *testing.T) {
	s := hosted(t, "forgets")
	ready := s.next(t, is(node.Ready)).Addr
	for range 5 {
		if _, err := (storeDriver{driver.Options{Hosts: []string{ready}}}).Counts(t.Context(), 0); err != nil {
			t.Fatal(err)
		}
	}
	s.command(t, node.Command{Do: node.Stop})
	summary := s.next(t, func(e node.Event) bool { return e.Record != nil && e.Record.Summary != nil }).Record.Summary
	if w := summary.Store; w == nil || w.Fault != "the store's counter of gets was reset" {
		t.Errorf("witness %+v", w)
	}
}

// A store that ends is told with its last output, and by whom it was lost.
func TestHostTellsHowAStoreEnds(t *testing.T) {
	s := hosted(t, "breaks")
	e := s.next(t, is(node.Error))
	if want := "the store test has ended: exit status 1; its last output: hello, 12 ops/s | no such setting"; e.Text != want {
		t.Errorf("error %q, want %q", e.Text, want)
	}

	s = hosted(t, "")
	ready := s.next(t, is(node.Ready)).Addr
	counts, err := storeDriver{driver.Options{Hosts: []string{ready}}}.Counts(t.Context(), 0)
	var pid int
	if _, bad := fmt.Sscan(counts.Instance, &pid); err != nil || bad != nil {
		t.Fatal(err, bad)
	}
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	if e := s.next(t, is(node.Error)); !strings.Contains(e.Text, "has ended: signal: killed") || e.Peer != "node0" || !e.Lost {
		t.Errorf("error %+v", e)
	}
}

// A server of another form ends the wait for it.
func TestHostDoesNotWaitForAMisfit(t *testing.T) {
	row := storeRow
	row.Open = func(o driver.Options, _ driver.Use) (driver.Driver, error) { return misfitDriver{storeDriver{o}}, nil }
	began := time.Now()
	s := leadProgram(t, Program([]driver.Row{row}), "-node", "node0", "-port", "0", "-target", storeTarget(""))
	if e := s.next(t, is(node.Error)); e.Text != "test: it speaks something else" || time.Since(began) > readyWithin {
		t.Errorf("error %q after %v", e.Text, time.Since(began))
	}
}

// misfitDriver meets servers of another form.
type misfitDriver struct{ storeDriver }

func (d misfitDriver) Counts(ctx context.Context, server int) (metrics.StoreCounts, error) {
	counts, err := d.storeDriver.Counts(ctx, server)
	if err == nil {
		err = &driver.MisfitError{Text: "it speaks something else"}
	}
	return counts, err
}

// A killed host takes the store with it.
func TestAKilledHostLeavesNoStore(t *testing.T) {
	host := exec.Command(os.Args[0], hostWord, "-port", "0", "-target", storeTarget("alone"))
	host.Env = append(os.Environ(), "TMPDIR="+t.TempDir()) // it cannot remove the store's folder
	stdout, err := host.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := host.Start(); err != nil {
		t.Fatal(err)
	}
	ready := ""
	for lines := bufio.NewScanner(stdout); ready == "" && lines.Scan(); {
		_, ready, _ = strings.Cut(lines.Text(), "test answers on ")
	}
	if err := host.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = host.Wait() // killed
	if ready == "" {
		t.Fatal("the store does not answer")
	}
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(10 * time.Millisecond) {
		conn, err := net.Dial("tcp", ready)
		if err != nil {
			return
		}
		if conn.Close(); time.Now().After(deadline) {
			t.Fatal("the store outlives its host")
		}
	}
}

// Flags that do not go with a foreign store, and mistakes in a target, are refused.
func TestHostRefusesFlags(t *testing.T) {
	for args, want := range map[string]string{
		"-target test://h:1 -engine slab":            "-engine is of kvlab's own store",
		"-target tset://h:1":                         `driver "tset": want one of test; did you mean test?`,
		"-target rediss":                             "did you mean redis?",
		"-target test://h:1,h:2 -servers 3":          "-servers 3: want 2",
		"-target test://h":                           `server "h": want host:port`,
		"-target test://h:1,h:2 -server 2":           "-server 2: want less than 2",
		`-target {"driver":"test","run":"a_{prot}"}`: "did you mean {port}?",
	} {
		if _, _, err := parse(strings.Fields(args), []driver.Row{storeRow}, nil); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", args, err, want)
		}
	}
}
