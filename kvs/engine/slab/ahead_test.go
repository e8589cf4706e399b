//go:build linux && !race

package slab

import (
	"bytes"
	"os"
	"syscall"
	"testing"
	"time"
	"unsafe"
)

// TestAhead uses memory while more of it is made ready: what was written stays,
// and in the end aheadMost beyond what is in use is resident, and no more than a
// step beyond that.
func TestAhead(t *testing.T) {
	checkPopulates(t)
	a := newArena()
	defer a.close()
	taken := fill(t, a, 40)
	ready := waitAhead(t, a)
	if used := a.next * 8; ready < used+aheadMost || ready > used+aheadMost+aheadStep {
		t.Errorf("%d bytes are in use and %d ready", used, ready)
	}
	if pages := pagesResident(t, a.regions[0][:ready]); pages != int(ready)/os.Getpagesize() {
		t.Errorf("%d pages of %d bytes that are ready are resident", pages, ready)
	}
	checkFilled(t, a, taken)
}

// checkPopulates skips the test where the system does not clear memory ahead.
func checkPopulates(t *testing.T) {
	t.Helper()
	probe, err := newRegion()
	if err != nil {
		t.Fatal(err)
	}
	defer freeRegion(probe)
	populate(probe[:aheadStep])
	if pagesResident(t, probe[:aheadStep]) == 0 {
		t.Skip("this system does not know MADV_POPULATE_WRITE")
	}
}

// fill takes n blocks of 1 MiB and fills each with its number, from 1 on.
func fill(t *testing.T, a *arena, n int) (taken []block) {
	t.Helper()
	for i := range n {
		free, err := a.take(classOf(1<<20), nil)
		if err != nil || len(free) != 1 {
			t.Fatal(free, err)
		}
		taken = append(taken, free[0])
		data := a.data(free[0])[:1<<20]
		copy(data, bytes.Repeat([]byte{byte(i + 1)}, len(data)))
	}
	return taken
}

func checkFilled(t *testing.T, a *arena, taken []block) {
	t.Helper()
	for i, b := range taken {
		if data := a.data(b)[:1<<20]; !bytes.Equal(data, bytes.Repeat([]byte{byte(i + 1)}, len(data))) {
			t.Errorf("block %d was changed", i)
		}
	}
}

// waitAhead polls until nothing is to be made ready, and returns how far it is.
func waitAhead(t *testing.T, a *arena) uint64 {
	t.Helper()
	for deadline := time.Now().Add(20 * time.Second); time.Now().Before(deadline); time.Sleep(time.Millisecond) {
		a.mu.Lock()
		busy, ready := a.ahead.busy, a.ahead.ready
		a.mu.Unlock()
		if !busy {
			return ready
		}
	}
	t.Fatal("memory is still being made ready")
	return 0
}

// pagesResident counts them by
// https://man7.org/linux/man-pages/man2/mincore.2.html.
func pagesResident(t *testing.T, memory []byte) (pages int) {
	t.Helper()
	state := make([]byte, len(memory)/os.Getpagesize())
	if _, _, errno := syscall.Syscall(syscall.SYS_MINCORE, uintptr(unsafe.Pointer(&memory[0])), uintptr(len(memory)), uintptr(unsafe.Pointer(&state[0]))); errno != 0 {
		t.Fatal(errno)
	}
	for _, s := range state {
		pages += int(s & 1)
	}
	return pages
}
