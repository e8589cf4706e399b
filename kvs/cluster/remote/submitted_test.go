package remote

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"kvlab/kvs/target"
)

func TestNoCheckout(t *testing.T) {
	t.Parallel()
	if _, _, err := new(Builds).Checkout(t.Context(), t.TempDir(), Submitted{}); err == nil || !strings.Contains(err.Error(), "no cmd/kvsserver: another store wants a target file") {
		t.Errorf("an empty folder: %v", err)
	}
}

func TestLastLines(t *testing.T) {
	t.Parallel()
	var said lastBytes
	for i := range 100_000 {
		fmt.Fprintf(&said, "# kvlab/x\na: %d\n\n", i)
	}
	said.Write([]byte("too many errors\n"))
	if got := said.lines().Error(); got != "a: 99995 | a: 99996 | a: 99997 | a: 99998 | a: 99999" || len(said.text) > 2*mostSpoken {
		t.Errorf("%q of %d bytes", got, len(said.text))
	}
	said.Write([]byte("main.go:3:8: golang.org/x/sys@v0.1.0: module lookup disabled by GOPROXY=off\n"))
	if got := said.lines().Error(); !strings.HasSuffix(got, `GOPROXY=off | builds are offline: for a module of kvlab's go.mod, type "go mod download" in kvlab's checkout`) {
		t.Errorf("%q", got)
	}
}

// A build that does not end is ended, with what it has started.
func TestEndlessBuild(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeoutCause(t.Context(), 300*time.Millisecond, errors.New("too long"))
	defer cancel()
	dir := t.TempDir()
	begun := time.Now()
	_, err := new(Builds).Store(ctx, target.Target{Name: "x", Build: "sh -c 'sleep 61 & echo $! > pid; wait' {bin}", Dir: dir}, Submitted{})
	pid, unread := os.ReadFile(filepath.Join(dir, "pid"))
	if err == nil || err.Error() != "build x: too long" || time.Since(begun) > 30*time.Second || unread != nil {
		t.Fatalf("%v after %s, %v", err, time.Since(begun), unread)
	}
	for range 2000 { // the kernel ends it soon
		if _, err := os.Stat("/proc/" + strings.TrimSpace(string(pid))); err != nil {
			return
		}
		time.Sleep(5 * time.Millisecond)
	}
	t.Error("what it has started is there still")
}
