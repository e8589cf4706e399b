package cache

import (
	"fmt"
	"math"
	"strconv"

	"kvlab/internal/cli"
)

// Size is the memory of a client's cache in bytes. It is the value of a flag. 0 is no cache.
type Size uint64

// All is the Size of a cache that holds every record.
const All Size = math.MaxUint64

// units are the units of a Size, the largest first.
var units = []struct {
	name  string
	shift int
}{{"GiB", 30}, {"MiB", 20}, {"KiB", 10}}

// Set reads all, a number of bytes with a unit, such as 64MiB, or 0.
func (s *Size) Set(text string) error {
	switch text {
	case "all":
		*s = All
		return nil
	case "", "0":
		*s = 0
		return nil
	}
	n, ok := cli.ParseBytes(text)
	if !ok || n >= math.MaxInt64 {
		return fmt.Errorf("want all, for every record, a size such as 64MiB or 2GiB, or 0 for no cache")
	}
	*s = Size(n)
	return nil
}

func (s *Size) String() string {
	switch *s {
	case All:
		return "all"
	case 0:
		return "0"
	}
	for _, u := range units {
		if n := uint64(*s) >> u.shift; n<<u.shift == uint64(*s) {
			return strconv.FormatUint(n, 10) + u.name
		}
	}
	return strconv.FormatUint(uint64(*s), 10)
}

// Check returns an error that names the flag if the cache has no room for a value of
// longest bytes.
func (s *Size) Check(longest int) error {
	return cli.Want(*s == 0 || uint64(*s) >= ways*EntryBytes(longest), "-cache", s, "at least %d bytes, for %d values of %d bytes", ways*EntryBytes(longest), ways, longest)
}

// Open returns an empty Store of the size, for records whose values have at most longest
// bytes; nil for no cache.
func (s Size) Open(records uint64, longest int) *Store {
	switch s {
	case 0:
		return nil
	case All:
		return NewStore(records, longest)
	}
	return NewStore(min(records, uint64(s)/EntryBytes(longest)/ways*ways), longest)
}
