package workload

import "testing"

// movingConfigs are a hot spot and Zipf's law, both with a hot set that moves. It does not
// divide the records, so it goes over the last one.
func movingConfigs(seed uint64) (all []Config) {
	for _, law := range []string{Hotspot, Zipfian} {
		for _, scramble := range []bool{false, true} {
			c := DefaultConfig()
			c.Distribution, c.Scramble, c.Seed = law, scramble, seed
			c.Records, c.HotKeys, c.HotMove = 1009, 0.15, 7001
			all = append(all, c)
		}
	}
	return all
}

// The operations of workers that draw different numbers are on the records as adding up the law
// at each operation's place gives, and PopularAt has the same shares.
func TestMovingMatchesItsClosedForm(t *testing.T) {
	for seed := range uint64(drawn(50)) {
		for _, c := range movingConfigs(seed) {
			plan := mustNew(t, c)
			still := c
			still.HotMove = 0
			law, counts, want := mustNew(t, still), make([]uint64, c.Records), make([]float64, c.Records)
			ops, numbers, all := make([]Op, 9_000), []uint64{9_000, 2_500, 7_000, 4_001, 1}, uint64(0)
			var at [7]float64 // operations after so many moves
			for worker, n := range numbers {
				source := plan.Source(Place{Nodes: 1, Worker: worker, Workers: len(numbers)})
				for rest := ops[:n]; len(rest) > 0; { // in parts, which change nothing
					part := min(len(rest), 1+worker*77)
					source.Fill(rest[:part])
					rest = rest[part:]
				}
				for i, op := range ops[:n] {
					counts[op.Key]++
					at[uint64(i)*uint64(len(numbers))/c.HotMove]++
				}
				all += n
			}
			for moves, ops := range at {
				for rank := range c.Records {
					want[plan.Key((rank+uint64(moves)*151)%c.Records)] += law.Mass(rank) * ops
				}
			}
			if p := chiSquare(counts, func(id uint64) float64 { return want[id] / float64(all) }); !(p > 1e-6) {
				t.Errorf("seed %d, %s: p = %.3g against the closed form", seed, c.Flags(), p)
			}
			sum := 0.0
			for id, share := range plan.PopularAt(plan.Places(numbers)) {
				got, mean := float64(share)/(1<<48), want[id]/float64(all)
				sum += got
				if d := got - mean; d > 0.003*mean+1e-5 || d < -0.003*mean-1e-5 {
					t.Fatalf("seed %d, %s: record %d has the share %.6g, want %.6g", seed, c.Flags(), id, got, mean)
				}
			}
			if sum < 0.9999 || sum > 1.0001 {
				t.Errorf("seed %d, %s: the shares sum to %.6f", seed, c.Flags(), sum)
			}
		}
	}
}

// The stream of a plan that moves is that of the still one up to its first move, exactly, and
// after 7 moves, round all records, as many operations later, it is on the same records again.
func TestMovingMovesAtItsOperation(t *testing.T) {
	for _, c := range movingConfigs(3) {
		still := c
		still.HotMove = 0
		place := Place{Node: 1, Nodes: 2, Worker: 2, Workers: 3} // 6 workers
		moved, stood := make([]Op, 10_000), make([]Op, 10_000)
		mustNew(t, c).Source(place).Fill(moved)
		plan := mustNew(t, still)
		plan.Source(place).Fill(stood)
		for i := range moved {
			moves := uint64(i) * 6 / c.HotMove
			if at := moves % 7; (at == 0) != (moved[i] == stood[i]) {
				t.Fatalf("%s: operation %d after %d moves is %v, without moves %v", c.Flags(), i, moves, moved[i], stood[i])
			}
		}
	}
}
