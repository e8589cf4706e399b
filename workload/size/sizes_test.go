package size_test

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"testing"

	"gonum.org/v1/gonum/stat/distuv"

	"kvlab/kvs"
	"kvlab/kvs/route"
	"kvlab/kvs/value"
	"kvlab/workload/size"
)

func lawOf(t *testing.T, text string) (l size.Law) {
	t.Helper()
	if err := l.Set(text); err != nil {
		t.Fatal(err)
	}
	return l
}

// drawn counts the sizes of the records whose keys are decimal ids.
func drawn(s *size.Sizes, records int) []int {
	counts := make([]int, size.MostValue+1)
	var key []byte
	for id := range records {
		key = strconv.AppendInt(key[:0], int64(id), 10)
		counts[s.At(route.Hash(key))]++
	}
	return counts
}

// chiSquare returns the p-value of counts against the law in which a size is at most x with
// probability upTo(x). Neighbours are merged until 20 of each are expected.
func chiSquare(counts []int, least, most, n int, upTo func(x float64) float64) float64 {
	statistic, cells, below := 0.0, 0, 0.0
	observed := 0
	for x := least; x <= most; x++ {
		observed += counts[x]
		p := upTo(float64(x)) - below
		rest := 1 - upTo(float64(x))
		if x < most && (float64(n)*p < 20 || float64(n)*rest < 20) {
			continue
		}
		statistic += (float64(observed) - float64(n)*p) * (float64(observed) - float64(n)*p) / (float64(n) * p)
		cells, below, observed = cells+1, below+p, 0
	}
	return distuv.ChiSquared{K: float64(cells - 1)}.Survival(statistic)
}

// etcValues returns the distribution function of ETC's values as published: a table up to 14
// bytes, then a generalized Pareto law, of which mutilate takes the whole bytes. Values
// below the header's length have it.
func etcValues(x float64) float64 {
	table := []float64{0.00536, 0.00047, 0.17820, 0.09239, 0.00018, 0.02740, 0.00065, 0.00606, 0.00023, 0.00837, 0.00837, 0.08989, 0.00092, 0.00326, 0.01980}
	short := 0.0
	for _, p := range table {
		short += p
	}
	if x < size.LeastValue {
		return 0
	}
	return short + (1-short)*(1-math.Pow(1+0.348238*(x+1-15)/214.476, -1/0.348238))
}

// etcKeys is that of its keys: a generalized extreme value law, rounded.
func etcKeys(x float64) float64 {
	return math.Exp(-math.Pow(1+0.078688*(x+0.5-30.7984)/8.20449, -1/0.078688))
}

// size.Sizes follow the published laws, for any seed.
func TestLaws(t *testing.T) {
	const records = 300_000
	uniform := func(least, most int) func(float64) float64 {
		return func(x float64) float64 { return (x - float64(least) + 1) / float64(most-least+1) }
	}
	for _, test := range []struct {
		name  string
		sizes func(seed uint64) *size.Sizes
		upTo  func(x float64) float64
	}{
		{"values 24-1024", lawOf(t, "24-1024").Values, uniform(24, 1024)},
		{"values 100-101", lawOf(t, "100-101").Values, uniform(100, 101)},
		{"values 24-1048576", lawOf(t, "24-1048576").Values, uniform(24, 1<<20)},
		{"values etc", lawOf(t, "etc").Values, etcValues},
		{"keys 16-40", lawOf(t, "16-40").Keys, uniform(16, 40)},
		{"keys etc", lawOf(t, "etc").Keys, etcKeys},
	} {
		t.Run(test.name, func(t *testing.T) {
			for seed := range uint64(2) {
				s := test.sizes(seed)
				upTo := func(x float64) float64 {
					if x == float64(s.Most) {
						return 1
					}
					return test.upTo(x)
				}
				counts := drawn(s, records)
				sum, inRange := 0, 0
				for x, n := range counts {
					sum += x * n
					if x >= s.Least && x <= s.Most {
						inRange += n
					}
				}
				p := chiSquare(counts, s.Least, s.Most, records, upTo)
				mean, square := s.Moments()
				t.Logf("seed %d: p = %.4f, mean %.2f, expected %.2f", seed, p, float64(sum)/records, mean)
				if p < 1e-6 || inRange != records {
					t.Errorf("seed %d: p = %g, %d of %d sizes in range", seed, p, inRange, records)
				}
				if off := math.Abs(float64(sum)/records - mean); off > 6*math.Sqrt((square-mean*mean)/records) {
					t.Errorf("seed %d: mean %.2f, expected %.2f", seed, float64(sum)/records, mean)
				}
			}
		})
	}
	// The test has teeth.
	off := size.Law{Least: 24, Most: 1019}.Values(1)
	if p := chiSquare(drawn(off, records), 24, 1024, records, uniform(24, 1024)); p > 1e-6 {
		t.Errorf("24 to 1019 pass for 24 to 1024: p = %g", p)
	}
}

// The moments are those of closed forms.
func TestMoments(t *testing.T) {
	for _, test := range []struct {
		text         string
		mean, square float64
	}{
		{"128", 128, 128 * 128},
		{"24-1024", 524, 524*524 + (1001.*1001-1)/12},
	} {
		mean, square := lawOf(t, test.text).Values(7).Moments()
		if math.Abs(mean/test.mean-1) > 1e-3 || math.Abs(square/test.square-1) > 1e-3 {
			t.Errorf("%s: mean %.3f, square %.1f; want %.3f, %.1f", test.text, mean, square, test.mean, test.square)
		}
	}
	// ETC: the sum of the probabilities that a size exceeds each number.
	for _, test := range []struct {
		sizes *size.Sizes
		upTo  func(x float64) float64
	}{{lawOf(t, "etc").Values(7), etcValues}, {lawOf(t, "etc").Keys(7), etcKeys}} {
		want := float64(test.sizes.Least)
		for x := test.sizes.Least; x < test.sizes.Most; x++ {
			want += 1 - test.upTo(float64(x))
		}
		if mean, _ := test.sizes.Moments(); math.Abs(mean/want-1) > 1e-3 {
			t.Errorf("mean %.3f, want %.3f", mean, want)
		}
	}
}

// A size depends on the seed and the hash, and on nothing else; those of values and keys
// are not the same draw.
func TestSizesArePure(t *testing.T) {
	l := lawOf(t, "24-255")
	one, again, other, keys := l.Values(1), l.Values(1), l.Values(2), l.Keys(1)
	equal, asKeys := 0, 0
	for hash := range uint64(10_000) {
		if one.At(hash) != again.At(hash) {
			t.Fatalf("hash %d: %d and %d bytes", hash, one.At(hash), again.At(hash))
		}
		if one.At(hash) == other.At(hash) {
			equal++
		}
		if one.At(hash) == keys.At(hash) {
			asKeys++
		}
	}
	if equal > 100 || asKeys > 100 { // 43 are expected
		t.Errorf("of 10000 sizes %d are those of another seed and %d those of keys", equal, asKeys)
	}
	// A promise: what a client stored, one of another release reads.
	var golden []int
	for _, s := range []*size.Sizes{one, lawOf(t, "etc").Values(1), lawOf(t, "etc").Keys(1)} {
		for hash := range uint64(8) {
			golden = append(golden, s.At(hash))
		}
	}
	if got, want := fmt.Sprint(golden), "[74 47 120 58 98 37 89 212 24 24 24 24 24 24 24 301 29 36 35 30 33 25 75 31]"; got != want {
		t.Errorf("sizes %s, want %s", got, want)
	}
}

func TestFlag(t *testing.T) {
	for text, want := range map[string]size.Law{
		"128": {Least: 128, Most: 128}, "": {}, "24-1024": {Least: 24, Most: 1024}, "etc": {ETC: true},
	} {
		l := lawOf(t, text)
		if l != want || l.String() != text {
			t.Errorf("%s: %+v, which prints as %s", text, l, &l)
		}
	}
	for _, text := range []string{"x", "-1", "12-", "-", "1024-24", "24-24", "24--3", "ETC", "etc-9", "-1e3", "24-1024-9", "24 - 1024"} {
		var l size.Law
		if err := l.Set(text); err == nil || !strings.Contains(err.Error(), "such as 24-1024, or etc") {
			t.Errorf("%q: %+v, error %v", text, l, err)
		}
	}
	if size.LeastValue != value.HeaderLen || size.MostValue != kvs.MaxValueLen || size.MostKey != kvs.MaxKeyLen {
		t.Error("the limits are not those of values and keys")
	}
}

// BenchmarkAt is the cost of a size.
func BenchmarkAt(b *testing.B) {
	for _, text := range []string{"128", "24-1024", "etc"} {
		b.Run(text, func(b *testing.B) {
			var l size.Law
			_ = l.Set(text)
			s, sum := l.Values(1), 0
			for hash := uint64(0); b.Loop(); hash += 0x9e3779b97f4a7c15 {
				sum += s.At(hash)
			}
			_ = sum
		})
	}
}
