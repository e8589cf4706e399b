package virtual

import (
	"errors"
	"regexp"
	"strconv"
)

// The bounds of a link's rate in bits per second. Below them a load takes minutes; above
// them no machine keeps up.
const (
	minRate = 1_000_000
	maxRate = 100_000_000_000
)

// rateForm matches a rate in bits in tc(8)'s form: a decimal number and a unit.
var rateForm = regexp.MustCompile(`^([0-9]+(?:\.[0-9]+)?)([kmg])bit$`)

var rateUnit = map[string]float64{"k": 1e3, "m": 1e6, "g": 1e9}

// ParseRate reads a link's rate, such as 1gbit, and returns bits per second.
func ParseRate(text string) (uint64, error) {
	parts := rateForm.FindStringSubmatch(text)
	if parts == nil {
		return 0, errors.New("needs a number and kbit, mbit or gbit, as in 1gbit")
	}
	number, err := strconv.ParseFloat(parts[1], 64)
	if err != nil || number*rateUnit[parts[2]] < minRate || number*rateUnit[parts[2]] > maxRate {
		return 0, errors.New("must be from 1mbit to 100gbit")
	}
	return uint64(number * rateUnit[parts[2]]), nil
}

// burst returns the size of tbf's bucket in bytes. It holds several TCP segments of 64 KiB,
// and 2 ms of the rate, to span the kernel's timer ticks.
func burst(bitsPerS uint64) uint64 {
	const least = 256 << 10
	return max(least, bitsPerS/8/500)
}
