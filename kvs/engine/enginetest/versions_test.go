package enginetest

import (
	"math/rand/v2"
	"os"
	"testing"
)

// The oracle itself: it accepts a right engine, and finds each mutant whatever the seed.
func TestVersionMutants(t *testing.T) {
	seeds := uint64(3)
	if os.Getenv("KVLAB_LONG") == "1" {
		seeds = 20
	}
	for _, wrong := range append(VersionMutants, "") {
		t.Run(wrong, func(t *testing.T) {
			for seed := range seeds {
				random := rand.New(rand.NewPCG(seed, 0))
				none, err := CheckVersions(NewVersionMutant(wrong, random), random, 20, 10_000)
				if (err == nil) != (wrong == "") || none > 0 {
					t.Errorf("seed %d: error %v, %d writes have no version", seed, err, none)
				}
				t.Logf("seed %d: %v", seed, err)
			}
		})
	}
}
