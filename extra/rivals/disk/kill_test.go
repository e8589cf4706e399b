package disk

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"kvlab/internal/kvstest"
	"kvlab/kvs"
	"kvlab/kvs/driver"
	"kvlab/kvs/engine"
	"kvlab/kvs/server"
)

// serverVariable makes the test binary a server.
const serverVariable = "KVLAB_TEST_DISK_SERVER"

// forgetful is Pebble without its Commit.
var forgetful = engine.Row{Name: "forgetful", Description: "a mutant", Syncs: Pebble.Syncs, Open: func(o engine.Options) (kvs.Engine, error) {
	e, err := Pebble.Open(o)
	return struct{ kvs.Durable }{mutant{e.(kvs.Durable)}}, err
}}

type mutant struct{ kvs.Durable }

func (mutant) Commit() error { return nil }

func TestMain(m *testing.M) {
	if os.Getenv(serverVariable) != "" {
		engine.Link(append(rows, forgetful))
		os.Exit(server.Program(nil).Main(os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
	}
	os.Exit(m.Run())
}

// victim is a server's process.
type victim struct {
	cmd  *exec.Cmd
	addr string
}

// start starts a server of an engine on a folder.
func start(t *testing.T, dir, name string, sync engine.Sync, more ...string) victim {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	v := victim{cmd: exec.Command(self, append([]string{"-engine", name, "-sync", string(sync), "-dir", dir, "-listen", "127.0.0.1:0"}, more...)...)}
	v.cmd.Env = append(os.Environ(), serverVariable+"=1")
	var stderr strings.Builder
	v.cmd.Stderr = &stderr
	out, err := v.cmd.StdoutPipe()
	if err == nil {
		err = v.cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = v.cmd.Process.Kill() }) // it has ended, unless the test failed
	lines := bufio.NewScanner(out)
	for v.addr == "" && lines.Scan() {
		_, v.addr, _ = strings.Cut(lines.Text(), "Starting KVS server on ")
	}
	if v.addr == "" {
		_ = v.cmd.Wait() // its output says more
		if strings.Contains(stderr.String(), "is in memory") {
			t.Skip(stderr.String())
		}
		t.Fatalf("%s: %s", name, stderr.String())
	}
	go io.Copy(io.Discard, out) // until it ends
	return v
}

// kill kills the process with SIGKILL.
func (v victim) kill(t *testing.T) {
	t.Helper()
	if err := v.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = v.cmd.Wait() // its error is the signal
}

// dial connects to the server, which has an instance.
func (v victim) dial() (call func(*kvs.Batch, *kvs.Reply) error, hangUp func(), err error) {
	o := driver.DefaultOptions()
	o.Hosts = []string{v.addr}
	d, err := driver.Open(o, driver.Use{CallsInFlight: 1})
	if err != nil {
		return nil, nil, err
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	conn, _, err := d.Dial(ctx, 0, 0)
	if err != nil {
		return nil, nil, err
	}
	call = func(batch *kvs.Batch, reply *kvs.Reply) error {
		c := &kvs.Call{Batch: batch, Reply: reply}
		conn.Send(c)
		return conn.Wait(c)
	}
	return call, func() { _ = conn.Close() }, nil
}

// killed loads a server, kills it after some acknowledged calls, starts it again on its
// folder, and audits; as often as it is told to. It returns the first error of an audit.
func killed(t *testing.T, name string, sync engine.Sync, kills int) error {
	random := kvstest.NewRandom(t)
	dir, l := t.TempDir(), newLedger()
	v := start(t, dir, name, sync)
	for i := range kills {
		loadAndKill(t, v, l, random)
		v = start(t, dir, name, sync, "-reopen")
		call, hangUp, err := v.dial()
		if err == nil {
			err = l.audit(l.floors(), call)
			hangUp()
		}
		if err != nil {
			v.kill(t)
			return fmt.Errorf("kill %d: %w", i+1, err)
		}
	}
	v.kill(t)
	return nil
}

func loadAndKill(t *testing.T, v victim, l *ledger, random *rand.Rand) {
	t.Helper()
	var group sync.WaitGroup
	for w := range writers {
		call, hangUp, err := v.dial()
		if err != nil {
			t.Fatal(err)
		}
		seeded := rand.New(rand.NewPCG(random.Uint64(), 0))
		group.Go(func() {
			defer hangUp()
			if err := l.load(w, seeded, call); err == nil || errors.Is(err, kvs.ErrMalformed) {
				t.Errorf("writer %d: %v", w, err)
			}
		})
	}
	ended := make(chan struct{})
	go func() { group.Wait(); close(ended) }()
	due := l.acknowledged.Load() + int64(1+random.IntN(400))
	for tick := time.NewTicker(time.Millisecond); l.acknowledged.Load() < due; {
		select {
		case <-tick.C:
		case <-ended:
			t.Fatal("every writer ended before the server was killed")
		}
	}
	v.kill(t)
	<-ended
}

// A server that is killed with SIGKILL and opened again has every write that it has
// acknowledged or shown to a reader, and none that nobody sent.
func TestKill(t *testing.T) {
	kills := 2
	if os.Getenv("KVLAB_LONG") != "" {
		kills = 100
	}
	for _, row := range rows {
		for _, sync := range row.Syncs {
			if sync == engine.SyncNone {
				continue
			}
			t.Run(row.Name+"/"+string(sync), func(t *testing.T) {
				if err := killed(t, row.Name, sync, kills); err != nil {
					t.Error(err)
				}
			})
		}
	}
}

// The test finds an engine that acknowledges without a Commit, and one that promises nothing.
func TestKillFindsMutants(t *testing.T) {
	for name, sync := range map[string]engine.Sync{forgetful.Name: engine.SyncOS, Pebble.Name: engine.SyncNone} {
		if err := killed(t, name, sync, 20); err == nil || !strings.Contains(err.Error(), "lost") {
			t.Errorf("%s, sync %s: 20 kills lost nothing: %v", name, string(sync), err)
		}
	}
}
