package node

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"

	"github.com/prometheus/procfs"
	"golang.org/x/sys/unix"
)

// maxCores is the size of the processor mask.
const maxCores = len(unix.CPUSet{}) * strconv.IntSize

// ParseCores parses a list of processors, such as 0-3,8 (cpuset(7), "List format"),
// and returns them in ascending order.
func ParseCores(list string) ([]int, error) {
	var cores []int
	for item := range strings.SplitSeq(list, ",") {
		first, last, isRange := strings.Cut(item, "-")
		if !isRange {
			last = first
		}
		a, errA := strconv.ParseUint(first, 10, 31)
		b, errB := strconv.ParseUint(last, 10, 31)
		switch {
		case errA != nil || errB != nil:
			return nil, fmt.Errorf("want processors as in 0-3,8, not %q", item)
		case a > b:
			return nil, fmt.Errorf("the range %s runs backwards", item)
		case int(b) >= maxCores:
			return nil, fmt.Errorf("processor %d: there are at most %d", b, maxCores)
		}
		for core := int(a); core <= int(b); core++ {
			cores = append(cores, core)
		}
	}
	slices.Sort(cores)
	if len(slices.Compact(slices.Clone(cores))) < len(cores) {
		return nil, errors.New("a processor is listed twice")
	}
	return cores, nil
}

// formatCores writes a list of processors that ParseCores reads.
func formatCores(cores []int) string {
	var items []string
	for i := 0; i < len(cores); {
		j := i
		for j+1 < len(cores) && cores[j+1] == cores[j]+1 {
			j++
		}
		item := strconv.Itoa(cores[i])
		if j > i {
			item += "-" + strconv.Itoa(cores[j])
		}
		items = append(items, item)
		i = j + 1
	}
	return strings.Join(items, ",")
}

// allowedCores returns the processors that this process may run on.
func allowedCores() ([]int, error) {
	var set unix.CPUSet
	if err := unix.SchedGetaffinity(0, &set); err != nil {
		return nil, fmt.Errorf("read the processor mask: %w", err)
	}
	var cores []int
	for core := range maxCores {
		if set.IsSet(core) {
			cores = append(cores, core)
		}
	}
	return cores, nil
}

// Halves returns lists of the two halves of the processors that this process may run on, and
// false if it may run on only one. Two processes that have a half each never
// compete for a processor.
func Halves() (first, second string, ok bool) {
	cores, _ := allowedCores()
	half := len(cores) / 2
	return formatCores(cores[:half]), formatCores(cores[half:]), half > 0
}

// bind runs this process on the listed processors only, and sets GOMAXPROCS to their
// number. A processor that is missing or not allowed is a UsageError; the kernel would
// ignore it silently.
func bind(list string) error {
	cores, err := ParseCores(list)
	if err != nil {
		return UsageError{fmt.Errorf("cores %q: %w", list, err)}
	}
	allowed, err := allowedCores()
	if err != nil {
		return err
	}
	missing := slices.DeleteFunc(slices.Clone(cores), func(core int) bool { return slices.Contains(allowed, core) })
	if len(missing) > 0 {
		return UsageError{fmt.Errorf("cores %s: this node may run on %s only", formatCores(missing), formatCores(allowed))}
	}
	var set unix.CPUSet
	for _, core := range cores {
		set.Set(core)
	}
	if err := bindThreads(set); err != nil {
		return fmt.Errorf("run on cores %s: %w", list, err)
	}
	runtime.GOMAXPROCS(len(cores))
	return nil
}

// bindThreads binds every thread. A new thread inherits the mask of its creator, so
// bindThreads repeats until it finds no new one, usually two or three times.
func bindThreads(set unix.CPUSet) error {
	bound := map[int]bool{}
	for before := -1; before < len(bound); {
		before = len(bound)
		threads, err := procfs.AllThreads(os.Getpid())
		if err != nil {
			return err
		}
		for _, thread := range threads {
			if err := unix.SchedSetaffinity(thread.PID, &set); err != nil && !errors.Is(err, unix.ESRCH) { // ended
				return err
			}
			bound[thread.PID] = true
		}
	}
	return nil
}
