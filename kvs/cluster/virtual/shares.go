package virtual

import (
	"cmp"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"kvlab/internal/cgroup"
)

// labGroup returns the folder of the cgroup of a process's lab. Its name has the number of
// the pid namespace, which is the same inside and outside of the lab.
func labGroup(c cgroup.Controller, process string) (string, error) {
	link, err := os.Readlink("/proc/" + process + "/ns/pid")
	if err != nil {
		return "", err
	}
	return filepath.Join(c.Folder, "kvlab-lab-"+strings.Trim(link, "pid:[]")), nil
}

// share moves the pid 1 of every host into its own cgroup. All have the same weight. The
// launcher and its ssh processes have the weight of all hosts together, though they use
// little: a barrier's message that waits for a core shifts one node's window against the
// others'. The lab has the weight of one ordinary process for each host.
func share(c cgroup.Controller, hosts []*host) error {
	group, err := labGroup(c, "self")
	if err != nil {
		return err
	}
	err = cmp.Or(c.Add(group, len(hosts)), c.Divide(group), c.Add(filepath.Join(group, "hub"), len(hosts), 1, os.Getpid())) // 1 is init
	for _, h := range hosts {
		err = cmp.Or(err, c.Add(filepath.Join(group, h.name), 1, h.pid()))
	}
	return err
}

// startGuard starts a process outside of the lab with this init. It removes the lab's
// cgroups after this process calls end, or ends in any way; end waits for that. Without
// a controller there is nothing to remove.
func startGuard(init int) (end func(), err error) {
	c, err := cgroup.Find("cpu")
	if err != nil {
		return func() {}, nil
	}
	group, err := labGroup(c, strconv.Itoa(init))
	if err != nil {
		return nil, err
	}
	return cgroup.Guard(group)
}
