package contain

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/prometheus/procfs"
	"golang.org/x/sys/unix"
)

// The user IDs of contained programs. Debian gives them only to packages that ask for one
// (Debian policy, 9.2.2), and systemd uses none of them (UIDS-GIDS.md).
const (
	firstUser = 60100
	lastUser  = 60499
)

// lockFolder has a file for each user ID. A containment locks the file of the ID that it uses.
const lockFolder = "/run/kvlab-contain"

// freeUser returns the ID of a user that owns no process. No other containment
// gets the ID before release.
func freeUser() (user int, release func(), err error) {
	if err := os.MkdirAll(lockFolder, 0o700); err != nil {
		return 0, nil, err
	}
	all, err := procfs.AllProcs()
	if err != nil {
		return 0, nil, err
	}
	var busy []uint64
	for _, p := range all {
		if status, err := p.NewStatus(); err == nil {
			busy = append(busy, status.UIDs[:]...)
		}
	}
	for id := firstUser; id <= lastUser; id++ {
		if slices.Contains(busy, uint64(id)) {
			continue
		}
		lock, err := os.OpenFile(filepath.Join(lockFolder, fmt.Sprint(id)), os.O_CREATE|os.O_RDWR|unix.O_NOFOLLOW, 0o600)
		if err != nil {
			return 0, nil, err
		}
		if err := unix.Flock(int(lock.Fd()), unix.LOCK_EX|unix.LOCK_NB); err == nil {
			return id, func() { lock.Close() }, nil
		}
		lock.Close()
	}
	return 0, nil, errors.New("every user ID for contained programs is in use")
}

// kept lists the variables of the environment that a program sees. Others may be secrets.
var kept = []string{"GOMAXPROCS", "GOGC", "GOMEMLIMIT", "GODEBUG", "LANG", "LC_ALL", "TZ"}

// environment returns a contained program's variables, from all of this process's.
func environment(all []string) []string {
	own := []string{"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "HOME=/tmp", "TMPDIR=/tmp"}
	return append(own, slices.DeleteFunc(slices.Clone(all), func(variable string) bool {
		name, _, _ := strings.Cut(variable, "=")
		return !slices.Contains(kept, name)
	})...)
}
