package server

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

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
	for unit, shift := range map[string]uint{"GiB": 30, "MiB": 20} {
		if number, ok := strings.CutSuffix(text, unit); ok {
			if n, err := strconv.ParseUint(number, 10, 32); err == nil && n >= 1 {
				return n << shift, nil
			}
		}
	}
	return 0, fmt.Errorf("-max-memory %q: want a share of the machine's, 70%%, or a size, 12GiB or 500MiB", text)
}

// memoryPause is the time between two checks. The fastest load, 5M records of 128 bytes
// a second, takes some 64 MB in that time.
const memoryPause = 100 * time.Millisecond

// watch returns an error when the process's resident memory exceeds limit, or nil when
// ctx ends.
func (c memoryCap) watch(ctx context.Context, limit uint64) error {
	tick := time.NewTicker(memoryPause)
	defer tick.Stop()
	for {
		used, err := usage.ResidentBytes()
		if err != nil {
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

// memoryOf returns the memory that a process may use on a machine with total bytes: all
// of it, or its control group's limit (cgroups(7); Kubernetes and Slurm set it). root is
// /sys/fs/cgroup, self the text of /proc/self/cgroup.
func memoryOf(total uint64, root, self string) (uint64, error) {
	for line := range strings.Lines(self) {
		fields := strings.SplitN(strings.TrimSpace(line), ":", 3) // number, controllers, path
		if len(fields) != 3 {
			continue
		}
		var file string
		switch fields[1] {
		case "":
			file = filepath.Join(root, fields[2], "memory.max")
		case "memory":
			file = filepath.Join(root, "memory", fields[2], "memory.limit_in_bytes")
		default:
			continue
		}
		text, err := os.ReadFile(file)
		if errors.Is(err, os.ErrNotExist) {
			continue
		} else if err != nil {
			return 0, err
		}
		if limit, err := strconv.ParseUint(strings.TrimSpace(string(text)), 10, 64); err == nil { // else "max"
			total = min(total, limit)
		}
	}
	return total, nil
}

// limit returns the cap in bytes on a machine with total bytes.
func (c memoryCap) limit(total uint64) (uint64, error) {
	self, err := os.ReadFile("/proc/self/cgroup")
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return 0, err
	}
	total, err = memoryOf(total, "/sys/fs/cgroup", string(self))
	if err != nil {
		return 0, err
	}
	return c.bytes(total)
}
