package node

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// maxCores is the size of the kernel's processor mask as sched_setaffinity is
// called here.
const maxCores = len(unix.CPUSet{}) * strconv.IntSize

// ParseCores reads a list of processors in the kernel's own form, numbers and
// ranges separated by commas such as 0-3,8 (cpuset(7), "List format"), and
// returns them in ascending order. The error says what is wrong with the list.
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
		return nil, errors.New("a processor stands there twice")
	}
	return cores, nil
}

// formatCores writes processors in ascending order as ParseCores reads them.
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

// allowedCores are the processors that this process may run on.
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

// bind keeps this process on the listed processors, and has it run as many
// goroutines at a time. All of them must be there and allowed: the kernel would
// leave out in silence those that are not. Errors are UsageErrors.
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

// bindThreads binds every thread. A mask is a thread's own, and a new thread has
// that of the one that made it; so the work is done when a look at all threads
// finds none that is still free, which takes two or three.
func bindThreads(set unix.CPUSet) error {
	for range 100 {
		free := false
		threads, err := os.ReadDir("/proc/self/task")
		if err != nil {
			return err
		}
		for _, thread := range threads {
			id, err := strconv.Atoi(thread.Name())
			if err != nil {
				return fmt.Errorf("thread %q: %w", thread.Name(), err)
			}
			var has unix.CPUSet
			if err := unix.SchedGetaffinity(id, &has); errors.Is(err, unix.ESRCH) || err == nil && has == set {
				continue // it has ended, or is bound
			} else if err != nil {
				return err
			}
			free = true
			if err := unix.SchedSetaffinity(id, &set); err != nil && !errors.Is(err, unix.ESRCH) {
				return err
			}
		}
		if !free {
			return nil
		}
	}
	return errors.New("the kernel does not keep to the mask")
}
