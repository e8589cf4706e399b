package server

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/prometheus/procfs"

	"kvlab/internal/cli"
	"kvlab/metrics/usage"
)

// memoryCap is the memory at which the process stops with an error. Otherwise the kernel
// would kill it, or the machine would swap and hang.
type memoryCap string

// bytes returns the cap: a share of total, such as 70%, or a size, such as 12GiB.
func (c memoryCap) bytes(total uint64) (uint64, error) {
	text := string(c)
	if share, ok := strings.CutSuffix(text, "%"); ok {
		if percent, err := strconv.ParseUint(share, 10, 8); err == nil && percent >= 1 && percent <= 100 {
			return total / 100 * percent, nil
		}
	}
	if n, ok := cli.ParseBytes(text); ok && n >= 1e6 && n < 1<<62 {
		return uint64(n), nil
	}
	return 0, fmt.Errorf("-max-memory %q: want a share of the machine's, 70%%, or a size, 12GiB or 500MiB", text)
}

// memoryPause is the time between two checks. The fastest load, 5M records of 128 bytes
// a second, takes some 64 MB in that time.
const memoryPause = 100 * time.Millisecond

// watch returns an error when the process's resident memory exceeds limit, or nil when
// ctx ends. A check needs a file: while there are too many open ones, it is left out.
func (c memoryCap) watch(ctx context.Context, limit uint64) error {
	tick := time.NewTicker(memoryPause)
	defer tick.Stop()
	for {
		used, err := usage.ResidentBytes()
		if err != nil && !errors.Is(err, syscall.EMFILE) {
			return err
		}
		if used > limit {
			return fmt.Errorf("memory is full: %d MiB in use, limit %d MiB (-max-memory %s)", used>>20, limit>>20, string(c))
		}
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
	}
}

// memoryOf returns the memory that a process in control groups may use on a machine with
// total bytes: all of it, or a group's limit (cgroups(7); Kubernetes and Slurm set it).
// root is /sys/fs/cgroup.
func memoryOf(total uint64, root string, groups []procfs.Cgroup) uint64 {
	for _, group := range groups {
		file := filepath.Join(root, group.Path, "memory.max")
		if slices.Contains(group.Controllers, "memory") { // version 1
			file = filepath.Join(root, "memory", group.Path, "memory.limit_in_bytes")
		}
		text, _ := os.ReadFile(file)                                                              // none of the root group
		if limit, err := strconv.ParseUint(strings.TrimSpace(string(text)), 10, 64); err == nil { // else "max", or no limit
			total = min(total, limit)
		}
	}
	return total
}

// limit returns the cap in bytes on a machine with total bytes.
func (c memoryCap) limit(total uint64) (uint64, error) {
	var groups []procfs.Cgroup
	if self, err := procfs.Self(); err == nil {
		groups, _ = self.Cgroups() // none of a kernel without control groups
	}
	return c.bytes(memoryOf(total, "/sys/fs/cgroup", groups))
}
