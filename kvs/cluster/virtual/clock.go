package virtual

import (
	"errors"
	"fmt"
	"os"
	"runtime"

	"golang.org/x/sys/unix"
)

// apart is by how many seconds each host's monotonic clock is ahead of that of the
// host before it, as if their machines had been started at different times. The
// first is as far ahead of this machine's.
const apart = 1000

// A host's pid 1 stays on its main thread: a thread unshares a namespace for
// itself, and /proc/self is the main thread's.
func init() {
	if os.Args[0] == hostName {
		runtime.LockOSThread()
	}
}

// ownClock gives a host a CLOCK_MONOTONIC of its own, from the program on that
// this process becomes, or before Linux 6.3 from its children on
// (time_namespaces(7)). On a kernel that cannot do it hosts have the machine's.
func ownClock(index int) error {
	if err := unix.Unshare(unix.CLONE_NEWTIME); errors.Is(err, unix.EINVAL) {
		return nil
	} else if err != nil {
		return fmt.Errorf("give the host a clock: %w", err)
	}
	offset := fmt.Sprintf("monotonic %d 0", (index+1)*apart)
	return os.WriteFile("/proc/self/timens_offsets", []byte(offset), 0)
}
