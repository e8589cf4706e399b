package cli

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// powers are the letters of multiples, as people write them: 1k, 10M, 2G. K, m and g are the
// same.
const powers = "kmg"

// ParseCount reads a number above 0, which may end in k, M or G, for 10^3, 10^6 or 10^9.
func ParseCount(text string) (n float64, ok bool) { return parseMultiple(text, 1000) }

// ParseBytes reads a number of bytes above 0, which may end in a unit: 64k, 64KB and 64kb are
// 64,000 bytes, 64KiB is 65,536.
func ParseBytes(text string) (n float64, ok bool) {
	digits := strings.TrimRight(text, "Bb")
	if len(text)-len(digits) > 1 {
		return 0, false
	}
	if binary, found := strings.CutSuffix(digits, "i"); found && digits != text {
		if binary == "" || strings.IndexByte(powers, binary[len(binary)-1]|0x20) < 0 {
			return 0, false
		}
		return parseMultiple(binary, 1024)
	}
	return parseMultiple(digits, 1000)
}

// parseMultiple reads a number above 0, whose last letter may be the name of a power of base.
func parseMultiple(text string, base float64) (n float64, ok bool) {
	unit := 1.0
	if last := len(text) - 1; last >= 0 {
		if power := strings.IndexByte(powers, text[last]|0x20); power >= 0 {
			text, unit = text[:last], math.Pow(base, float64(power+1))
		}
	}
	if strings.Trim(text, "0123456789.e") != "" { // no sign
		return 0, false
	}
	n, err := strconv.ParseFloat(text, 64)
	return n * unit, err == nil && n > 0 && !math.IsInf(n, 1)
}

// Whole is the value of a flag that is a whole number.
type Whole[T int | uint64] struct {
	of    *T
	parse func(text string) (float64, bool)
	form  string
}

// Count returns the value of a flag for a count, which people may write as 1k or 10M.
func Count[T int | uint64](p *T) Whole[T] {
	return Whole[T]{p, ParseCount, "a whole number, such as 1000000 or 1M"}
}

// Bytes returns the value of a flag for a number of bytes, which people may write as 64KB or
// 64KiB.
func Bytes[T int | uint64](p *T) Whole[T] {
	return Whole[T]{p, ParseBytes, "a number of bytes, such as 65536, 64KB or 64KiB"}
}

// Set reads the number. A number without a unit is read exactly, also if it is negative: the
// program says which range it wants.
func (w Whole[T]) Set(text string) error {
	if n, err := strconv.ParseInt(text, 10, strconv.IntSize); err == nil && T(n) <= math.MaxInt64 {
		*w.of = T(n)
		return nil
	}
	n, ok := w.parse(text)
	if !ok || n != math.Trunc(n) || n > 1<<53 {
		return fmt.Errorf("want %s", w.form)
	}
	*w.of = T(n)
	return nil
}

func (w Whole[T]) String() string {
	if w.of == nil { // of package flag's zero value
		return ""
	}
	return fmt.Sprint(*w.of)
}
