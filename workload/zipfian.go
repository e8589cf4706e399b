package workload

import (
	"fmt"
	"math"

	"kvlab/metrics/format"
)

// Zipfian draws rank k about as often as (k+1)^-theta. Its ranks are record ids.
// Latest does the same, but rank 0 is the record with the highest id.
const (
	Zipfian = "zipfian"
	Latest  = "latest"
)

// The two forms of zipfian and latest.
const (
	ZipfianYCSB  = "ycsb"
	ZipfianExact = "exact"
)

// zipfianForms are all values of Config.Zipfian.
var zipfianForms = []struct {
	choice
	new func(n uint64, theta float64) distribution
}{
	{choice{ZipfianYCSB, "as YCSB's generator draws"}, func(n uint64, theta float64) distribution { return newYCSBZipf(n, theta) }},
	{choice{ZipfianExact, "Zipf's law"}, func(n uint64, theta float64) distribution { return newZipf(n, theta) }},
}

func checkZipfian(c Config) error {
	if _, err := format.Find("-zipfian", c.Zipfian, zipfianForms); err != nil {
		return err
	}
	if !(c.Theta > 0) || math.IsInf(c.Theta, 1) {
		return fmt.Errorf("-theta %v: want a number above 0, such as 0.99; for no skew, -distribution %s", c.Theta, Uniform)
	}
	return nil
}

func zipfianFlags(c Config) string { return fmt.Sprintf(" -theta %g", c.Theta) }

func newZipfian(c Config) distribution {
	form, _ := format.Find("-zipfian", c.Zipfian, zipfianForms)
	return form.new(c.Records, c.Theta)
}
