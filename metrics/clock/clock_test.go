package clock

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// monotonic returns CLOCK_MONOTONIC as the kernel has it.
func monotonic(t *testing.T) int64 {
	t.Helper()
	var ts unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &ts); err != nil {
		t.Fatal(err)
	}
	return ts.Nano()
}

// A time lies between the kernel's readings before and after it, but for the
// clock's error.
func TestClock(t *testing.T) {
	c := New()
	if c.ID == "" || c.ErrorNs <= 0 {
		t.Fatalf("%+v", c)
	}
	for range 1000 {
		before, now, after := monotonic(t), time.Now(), monotonic(t)
		if ns := c.Ns(now); ns < before-c.ErrorNs || ns > after+c.ErrorNs {
			t.Fatalf("%d is not between %d and %d, within %d", ns, before, after, c.ErrorNs)
		}
	}
}

// clockVariable has the test binary say what its clock is, and nothing else.
const clockVariable = "KVLAB_TEST_CLOCK"

func TestMain(m *testing.M) {
	if os.Getenv(clockVariable) == "" {
		os.Exit(m.Run())
	}
	c := New()
	if err := json.NewEncoder(os.Stdout).Encode(spoken{c.ID, c.ErrorNs, c.Ns(time.Now())}); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// spoken is what another process says of its clock.
type spoken struct {
	ID      string
	ErrorNs int64
	NowNs   int64
}

// Another process has the same clock; one in another time namespace has not,
// and they are as far apart as that one was told.
func TestClockOfAnotherProcess(t *testing.T) {
	here := New()
	before := monotonic(t)
	there := ask(t, exec.Command(os.Args[0]))
	if after := monotonic(t); there.ID != here.ID || there.NowNs < before-there.ErrorNs || there.NowNs > after+there.ErrorNs {
		t.Errorf("clock %+v, not %q between %d and %d", there, here.ID, before, after)
	}
	if os.Geteuid() != 0 {
		t.Skip("a time namespace needs root")
	}
	if _, err := os.Stat("/proc/self/ns/time"); err != nil {
		t.Skip(err)
	}
	const ahead = 1000
	before = monotonic(t) + ahead*int64(time.Second)
	there = ask(t, exec.Command("unshare", "-T", "--monotonic", fmt.Sprint(ahead), os.Args[0]))
	after := monotonic(t) + ahead*int64(time.Second)
	if there.ID == here.ID || there.NowNs < before-there.ErrorNs || there.NowNs > after+there.ErrorNs {
		t.Errorf("clock %+v in a time namespace, not another than %q between %d and %d", there, here.ID, before, after)
	}
}

func ask(t *testing.T, cmd *exec.Cmd) spoken {
	t.Helper()
	cmd.Env = append(os.Environ(), clockVariable+"=1")
	cmd.Stderr = os.Stderr
	text, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v: %v", cmd, err)
	}
	var s spoken
	if err := json.Unmarshal(text, &s); err != nil {
		t.Fatal(err)
	}
	return s
}
