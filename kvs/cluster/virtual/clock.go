package virtual

import (
	"errors"
	"fmt"
	"os"
	"runtime"

	"golang.org/x/sys/unix"
)

// apart is the distance in seconds between the monotonic clocks of neighbouring hosts, as
// if they had booted at different times. The first is as far ahead of this machine's clock.
const apart = 1000

// A host's pid 1 stays on its main thread: unshare acts on the calling thread, and
// /proc/self shows the main thread.
func init() {
	if os.Args[0] == hostName {
		runtime.LockOSThread()
	}
}

// ownClock gives a host its own CLOCK_MONOTONIC. It applies to the program that this
// process executes next, before Linux 6.3 only to its children (time_namespaces(7)).
// On a kernel without time namespaces hosts keep the machine's clock.
func ownClock(index int) error {
	if err := unix.Unshare(unix.CLONE_NEWTIME); errors.Is(err, unix.EINVAL) {
		return nil
	} else if err != nil {
		return fmt.Errorf("give the host a clock: %w", err)
	}
	offset := fmt.Sprintf("monotonic %d 0", (index+1)*apart)
	return os.WriteFile("/proc/self/timens_offsets", []byte(offset), 0)
}
