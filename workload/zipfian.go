package workload

import (
	"cmp"
	"fmt"
	"math"

	"kvlab/internal/cli"
)

// The two forms of zipfian and latest.
const (
	ZipfianYCSB  = "ycsb"
	ZipfianExact = "exact"
)

// zipfianForms are all values of Config.Zipfian.
var zipfianForms = []choice[func(n uint64, theta float64) distribution]{
	{ZipfianYCSB, "as YCSB's generator draws", func(n uint64, theta float64) distribution { return newYCSBZipf(n, theta) }},
	{ZipfianExact, "Zipf's law", func(n uint64, theta float64) distribution { return newZipf(n, theta) }},
}

func zipfianFlags(c Config) string { return fmt.Sprintf(" -theta %g", c.Theta) }

func newZipfian(c Config) (distribution, error) {
	form, err := find("-zipfian", c.Zipfian, zipfianForms)
	ok := c.Theta > 0 && !math.IsInf(c.Theta, 1)
	if err := cmp.Or(err, cli.Want(ok, "-theta", c.Theta, "a number above 0, such as 0.99; for no skew, -distribution %s", Uniform)); err != nil {
		return nil, err
	}
	return form(c.Records, c.Theta), nil
}
