package workload

import (
	"fmt"
	"math/big"
	"math/rand/v2"
	"testing"
)

func TestKeyIsABijection(t *testing.T) {
	for _, n := range []uint64{1, 2, 3, 4, 5, 6, 7, 12, 30, 64, 97, 1000, 1024, 65_537, 1_000_000, 1 << 20} {
		for _, distribution := range []string{Zipfian, Latest} {
			for _, scramble := range []bool{false, true} {
				t.Run(fmt.Sprintf("records=%d/dist=%s/scramble=%t", n, distribution, scramble), func(t *testing.T) {
					c := DefaultConfig()
					c.Records, c.Distribution, c.Scramble, c.Seed = n, distribution, scramble, 42
					keys, plain := newKeys(c, c.Distribution == Latest), newKeys(c, false)
					seen := make([]bool, n)
					for k := range n {
						key := keys.at(k)
						if key >= n || seen[key] {
							t.Fatalf("rank %d has id %d, which is too high or taken", k, key)
						}
						seen[key] = true
						want := k
						if distribution == Latest { // the record that latest chose, with the id that zipfian gives it
							want = n - 1 - k
						}
						if key != plain.at(want) || !scramble && key != want {
							t.Fatalf("rank %d has id %d, want that of record %d", k, key, want)
						}
					}
				})
			}
		}
	}
}

// TestAffineOfLargeNumbers compares with arbitrary precision.
func TestAffineOfLargeNumbers(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for range 100_000 {
		n := random.Uint64N(1<<random.IntN(63)) + 1
		mul, add, k := random.Uint64N(n), random.Uint64N(n), random.Uint64N(n)
		want := new(big.Int).SetUint64(mul)
		want.Mul(want, new(big.Int).SetUint64(k)).Add(want, new(big.Int).SetUint64(add)).Mod(want, new(big.Int).SetUint64(n))
		if got := newAffine(n, mul, add).at(k); got != want.Uint64() {
			t.Fatalf("%d*%d + %d modulo %d = %d, want %d", mul, k, add, n, got, want)
		}
	}
}

// TestScrambleSpreads wants the most popular ranks far apart: a hundred of them
// in a million ids leave no gap over 2.7 times the mean.
func TestScrambleSpreads(t *testing.T) {
	c := DefaultConfig()
	c.Scramble = true
	keys := newKeys(c, c.Distribution == Latest)
	for a := range uint64(100) {
		for b := range a {
			d := (keys.at(a) + c.Records - keys.at(b)) % c.Records
			if d = min(d, c.Records-d); d < 3000 {
				t.Errorf("ranks %d and %d are only %d ids apart", a, b, d)
			}
		}
	}
}
