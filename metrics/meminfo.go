package metrics

import "strings"

// meminfo is what is used of /proc/meminfo (proc_meminfo(5);
// https://docs.kernel.org/filesystems/proc.html, "meminfo").
type meminfo struct{ totalBytes, availableBytes uint64 }

// usedBytes is the memory that a new program could not get without swapping:
// page cache that can be dropped counts as free, as free(1) has it.
func (m meminfo) usedBytes() uint64 { return m.totalBytes - m.availableBytes }

func (fs procFS) meminfo() (meminfo, error) {
	f, err := fs.open("meminfo")
	if err != nil {
		return meminfo{}, err
	}
	return parseMeminfo(f)
}

func parseMeminfo(f procFile) (meminfo, error) {
	var m meminfo
	availableAt := -1
	for i, line := range f.lines {
		name, value, _ := strings.Cut(line, ":")
		var err error
		switch name {
		case "MemTotal":
			m.totalBytes, err = f.kilobytes(i, name, value)
		case "MemAvailable":
			availableAt = i
			m.availableBytes, err = f.kilobytes(i, name, value)
		}
		if err != nil {
			return meminfo{}, err
		}
	}
	switch {
	case m.totalBytes == 0:
		return meminfo{}, f.missing("MemTotal")
	case availableAt < 0:
		return meminfo{}, f.missing("MemAvailable")
	case m.availableBytes > m.totalBytes:
		return meminfo{}, f.errorf(availableAt, "MemAvailable %d is more than MemTotal %d bytes",
			m.availableBytes, m.totalBytes)
	}
	return m, nil
}

// kilobytes reads "  24684092 kB" as bytes; the kernel's kB is 1024 bytes.
func (f procFile) kilobytes(i int, name, value string) (uint64, error) {
	digits, isKB := strings.CutSuffix(strings.TrimSpace(value), " kB")
	if !isKB {
		return 0, f.errorf(i, "%s is %q, want a number of kB", name, value)
	}
	n, err := f.uint(i, name, digits)
	if err == nil && n > 1<<53 {
		return 0, f.errorf(i, "%s of %d kB is no machine's memory", name, n)
	}
	return n * 1024, err
}
