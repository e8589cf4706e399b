// Package size draws the sizes of records' values and keys. A size is a pure function of
// the run's seed and the key's hash, so writers and checkers compute it alike.
package size

import (
	"fmt"
	"strconv"
	"strings"

	"kvlab/internal/cli"
)

// Limits of sizes in bytes.
const (
	LeastValue = 24 // the header of every value
	MostValue  = 1 << 20
	MostKey    = 255
)

// Law is a law of sizes. It is the value of a flag. The zero Law makes keys as short as
// their ids allow.
type Law struct {
	Least, Most int  // in bytes; every size between them is equally likely
	ETC         bool // sizes as in Facebook's ETC; then both are 0
}

// etcBound is five times the mean size of ETC's values. The mean of a call's values is
// larger only if one of the most popular records has a very large value.
const etcBound = 1024

// MeanBound bounds the mean size of the records of a call.
func (l Law) MeanBound() int {
	if l.ETC {
		return etcBound
	}
	return l.Most
}

// Constant returns the law of one size.
func Constant(bytes int) Law { return Law{Least: bytes, Most: bytes} }

// etc is the name of Facebook's ETC.
const etc = "etc"

// Set reads a number of bytes, a range, etc, or "" for the zero Law.
func (l *Law) Set(text string) error {
	if text == "" || text == etc {
		*l = Law{ETC: text == etc}
		return nil
	}
	first, last, isRange := strings.Cut(text, "-")
	var least, most int
	err := cli.Bytes(&least).Set(first)
	if most = least; isRange && err == nil {
		err = cli.Bytes(&most).Set(last)
	}
	if err != nil || isRange && least >= most {
		return fmt.Errorf("want a number of bytes such as 128 or 1KB, a range from the least to the most such as 24-1024, or etc")
	}
	*l = Law{Least: least, Most: most}
	return nil
}

func (l *Law) String() string {
	switch {
	case *l == Law{}:
		return ""
	case l.ETC:
		return etc
	case l.Least < l.Most:
		return fmt.Sprintf("%d-%d", l.Least, l.Most)
	}
	return strconv.Itoa(l.Least)
}

// OfRecord returns the mean bytes of a record's value and of its key, as far as -key-size
// says them, by a run's flags.
func OfRecord(values, keys string) uint64 {
	sum := 0.0
	var l Law
	if l.Set(values) == nil {
		mean, _ := l.Values(0).Moments()
		sum += mean
	}
	if l.Set(keys) == nil {
		mean, _ := l.Keys(0).Moments()
		sum += mean
	}
	return uint64(sum)
}

// CheckValues returns an error that names -value-size if values cannot have a size of the
// law.
func (l Law) CheckValues() error {
	return cli.Want(l.ETC || l.Least >= LeastValue && l.Most <= MostValue, "-value-size", &l,
		"%d (the header that every value is checked by) to %d bytes", LeastValue, MostValue)
}

// CheckKeys returns an error that names -key-size if keys cannot have a size of the law.
func (l Law) CheckKeys() error {
	return cli.Want(l.ETC || l.Least >= 0 && l.Most <= MostKey, "-key-size", &l, "at most %d bytes", MostKey)
}
