package experiment

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"kvlab/metrics"
)

// randomKnobs returns one to three knobs with one to four values.
func randomKnobs(random *rand.Rand) []metrics.Knob {
	var knobs []metrics.Knob
	for k := range 1 + random.IntN(3) {
		knob := metrics.Knob{Name: fmt.Sprintf("k%d", k)}
		for v := range 1 + random.IntN(4) {
			knob.Values = append(knob.Values, fmt.Sprint(v))
		}
		knobs = append(knobs, knob)
	}
	return knobs
}

// Every block of an order has every point once, and the numbers run from 1.
func TestOrder(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	for range 200 {
		knobs, trials := randomKnobs(random), 1+random.IntN(6)
		points := metrics.Points(knobs)
		order := Order(knobs, trials, random.Uint64())
		if len(order) != trials*len(points) {
			t.Fatalf("%d trials of %d points: %d planned", trials, len(points), len(order))
		}
		for i, planned := range order {
			if planned.Number != i+1 {
				t.Fatalf("trial %d has number %d", i+1, planned.Number)
			}
		}
		for block := range slices.Chunk(order, len(points)) {
			for _, point := range points {
				if !slices.ContainsFunc(block, func(p metrics.PlannedTrial) bool { return slices.Equal(p.Point, point) }) {
					t.Fatalf("a block lacks %v: %v", point, block)
				}
			}
		}
	}
}

// The seed alone decides, in every release: the resume of a sweep with --until
// depends on it.
func TestOrderIsSeeded(t *testing.T) {
	knobs := []metrics.Knob{{Name: "n", Values: []string{"a", "b", "c", "d"}}}
	word := func(seed uint64) (w string) {
		for _, planned := range Order(knobs, 3, seed) {
			w += planned.Point[0]
		}
		return w
	}
	if got, want := word(7), "dbacadcbdbca"; got != want {
		t.Errorf("order of seed 7 is %s, want %s", got, want)
	}
	different := make(map[string]bool)
	for seed := range uint64(100) {
		different[word(seed)] = true
	}
	if len(different) < 95 { // of 24^3 orders
		t.Errorf("100 seeds give %d orders", len(different))
	}
}
