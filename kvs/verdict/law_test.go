package verdict

import (
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"

	"kvlab/kvs/route"
	"kvlab/kvs/verdict/work"
	"kvlab/metrics"
	"kvlab/metrics/stats"
	"kvlab/workload"
	"kvlab/workload/size"
)

// drawnRun returns a run whose servers sampled n operations of a configuration, as change
// turns them into others, and count one key in 2^bits.
func drawnRun(t *testing.T, c workload.Config, servers, n int, keyBits uint, change func(ranks []uint64, writes []bool)) *judged {
	t.Helper()
	plan, flags := planned(t, c, "fnv", "user")
	run := &judged{}
	var err error
	if run.expected, err = expect(flags, servers); err != nil {
		t.Fatal(err)
	}
	names := route.NewKeys(c, "user", size.Law{})
	by, err := route.New("fnv", servers, nil)
	if err != nil {
		t.Fatal(err)
	}
	rank := make(map[uint64]uint64) // by id
	mapped := c.Scramble || c.Distribution == workload.Scrambled
	if mapped {
		for r := range c.Records {
			rank[plan.Key(r)] = r
		}
	}
	all := make([]workload.Op, n)
	plan.Source(workload.Place{Nodes: 1, Workers: 1}).Fill(all)
	ranks, writes := make([]uint64, n), make([]bool, n)
	for i, op := range all {
		writes[i] = op.Kind == workload.Update || op.Kind == workload.ReadModifyWrite || op.Kind == workload.Delete
		if ranks[i] = op.Key; mapped && op.Kind != workload.Insert {
			ranks[i] = rank[op.Key]
		}
	}
	if change != nil {
		change(ranks, writes)
	}
	type keys struct {
		of     uint64
		counts map[uint64]uint32
	}
	counts, seen := make([][2]keys, servers), make([]*metrics.Seen, servers) // of all operations, and of the writes
	for i := range seen {
		counts[i][0].counts, counts[i][1].counts = make(map[uint64]uint32), make(map[uint64]uint32)
		seen[i] = &metrics.Seen{Groups: make([]uint64, route.Groups)}
	}
	before := make(map[int]uint64) // the last rank by server
	for i, r := range ranks {
		id := r // of an inserted record
		if r < c.Records {
			id = plan.Key(r)
		}
		key, hash := names.Append(nil, id)
		at := by.Server(key, hash)
		seen[at].Groups[route.Group(hash)]++
		for k := range counts[at] {
			if k == 1 && !writes[i] {
				break
			}
			counts[at][k].of++
			if thin := route.Thin(hash); thin>>(64-keyBits) == 0 {
				counts[at][k].counts[thin]++
			}
		}
		if last, ok := before[at]; ok && last < c.Records && r < c.Records {
			seen[at].Pairs++
			if last == r {
				seen[at].EqualPairs++
			}
		}
		before[at] = r
	}
	for i := range seen {
		seen[i].Keys = metrics.PackKeyCounts(counts[i][0].of, keyBits, counts[i][0].counts)
		seen[i].Writes = metrics.PackKeyCounts(counts[i][1].of, keyBits, counts[i][1].counts)
		run.Nodes = append(run.Nodes, metrics.RunNode{Name: fmt.Sprint("s", i), Role: metrics.Server, Summary: &metrics.Summary{Seen: seen[i]}})
	}
	return run
}

// The expected counts are what adding up all records one by one gives.
func TestRankBins(t *testing.T) {
	c := workload.DefaultConfig()
	c.Records, c.Scramble = 5000, true
	const servers, n, keyBits = 3, 4000, 1
	run := drawnRun(t, c, servers, n, keyBits, nil)
	bins, unknown, _ := rankBins(run, keySamples[0])
	if len(bins) != 13 || unknown != 0 || bins[12].first != 4096 || bins[12].last != 5000 {
		t.Fatalf("%d bins, %d operations on no record", len(bins), unknown)
	}
	plan, _ := planned(t, c, "fnv", "user")
	owner, hashes := owners(t, plan, c.Records, "fnv", "user", servers)
	share, sampled := make([]float64, servers), make([]float64, servers)
	for rank, at := range owner {
		share[at] += plan.Mass(uint64(rank))
	}
	for i, node := range run.Nodes {
		sampled[i] = float64(stats.Total(node.Summary.Seen.Groups))
	}
	for _, b := range bins {
		ops, keys := 0.0, 0.0
		for rank := b.first - 1; rank < b.last; rank++ {
			if at := owner[rank]; route.Thin(hashes[rank])>>63 == 0 {
				p := plan.Mass(rank) / share[at]
				ops += sampled[at] * p
				keys += 1 - math.Pow(1-p, sampled[at])
			}
		}
		if math.Abs(ops-b.ops.Mean) > 1e-3*ops || math.Abs(keys-b.keys.Mean) > 1e-3*keys {
			t.Errorf("ranks %d to %d: %v operations on %v keys, want %v on %v", b.first, b.last, b.ops.Mean, b.keys.Mean, ops, keys)
		}
	}
}

// Honest draws are never accused: with any law, number of records and servers, sample
// size and share of the keys. Draws that differ in the tail alone, or that depend on each
// other, are.
func TestLawOfDraws(t *testing.T) {
	runs := 3
	if os.Getenv("KVLAB_LONG") == "1" {
		runs = 300
	}
	tests := []struct {
		name   string
		change func(c workload.Config, ranks []uint64, writes []bool)
		want   string // in the verdict
	}{
		{"honest", nil, "VALID"},
		{"nine tenths never asked for", func(c workload.Config, ranks []uint64, _ []bool) {
			for i, r := range ranks {
				if r >= 1000 {
					ranks[i] = r - r%10
				}
			}
		}, "some records are never asked for"},
		{"uniform in the tail", func(c workload.Config, ranks []uint64, _ []bool) {
			for i, r := range ranks {
				if r >= 1000 {
					ranks[i] = 1000 + rand.New(rand.NewPCG(c.Seed, uint64(i))).Uint64N(c.Records-1000)
				}
			}
		}, "the skew is wrong there"},
		{"inserts that repeat", func(c workload.Config, ranks []uint64, _ []bool) {
			for i, r := range ranks {
				if r >= c.Records {
					ranks[i] = c.Records + (r-c.Records)%1000
				}
			}
		}, "of the records that are inserted, the servers' samples of operations have"},
		{"inserts left out", func(c workload.Config, ranks []uint64, _ []bool) {
			for i, r := range ranks {
				if r >= c.Records && r%4 == 0 {
					ranks[i] = r % c.Records
				}
			}
		}, "the skew is wrong there"},
		{"each drawn twice", func(_ workload.Config, ranks []uint64, _ []bool) {
			for i := range ranks {
				ranks[i] = ranks[i&^1]
			}
		}, "successive draws are not independent"},
		{"writes on the coldest alone", func(c workload.Config, ranks []uint64, writes []bool) {
			slices.Sort(ranks) // all together keep their law
			random := rand.New(rand.NewPCG(c.Seed, 8))
			reads := 0
			for _, write := range writes {
				if !write {
					reads++
				}
			}
			for _, part := range [][]uint64{ranks[:reads], ranks[reads:]} {
				random.Shuffle(len(part), func(i, j int) { part[i], part[j] = part[j], part[i] })
			}
			read, written := ranks[:reads], ranks[reads:]
			all := make([]uint64, 0, len(ranks))
			for _, write := range writes {
				from := &read
				if write {
					from = &written
				}
				all, *from = append(all, (*from)[0]), (*from)[1:]
			}
			copy(ranks, all)
		}, "of the servers' sampled writes where"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			for seed := range uint64(runs) {
				if seed == 2 && runs == 3 && test.change != nil {
					break // a million records take long
				}
				random := rand.New(rand.NewPCG(seed, 7))
				c := workload.DefaultConfig()
				c.Seed, c.Records = seed, []uint64{20_000, 200_000, workload.KnownRanks + 200_000}[seed%3]
				n, keyBits := 20_000<<random.IntN(4), uint(random.IntN(4))
				var change func([]uint64, []bool)
				if strings.Contains(test.name, "inserts") {
					c.Workload, c.Records = workload.YCSBE, min(c.Records, 200_000)
				}
				if test.change != nil {
					change = func(ranks []uint64, writes []bool) { test.change(c, ranks, writes) }
				} else {
					c.Theta = []float64{0.5, 0.99, 1.3}[random.IntN(3)]
					if c.Records < workload.KnownRanks {
						c.Scramble = random.IntN(2) == 0
						if !c.Scramble && random.IntN(2) == 0 {
							c.Distribution = workload.Scrambled
						}
					}
					if random.IntN(2) == 0 {
						c.Workload, c.Reads, c.Inserts = workload.Mix, 0.5, []float64{0.05, 0.4}[random.IntN(2)]
					}
				}
				run := drawnRun(t, c, 1+random.IntN(3), n, keyBits, change)
				got := run.made(rows("successors", "ranks")).String()
				if !strings.Contains(got, test.want) || (test.want == "VALID") != (got == "VALID") {
					t.Errorf("seed %d, %d records, %d draws, one key in %d: %s, want %s", seed, c.Records, n, 1<<keyBits, got, test.want)
				} else if seed == 0 {
					t.Log(got)
				}
			}
		})
	}
}

// A key of no record is found, and damaged counts are.
func TestLawOfStrangers(t *testing.T) {
	c := workload.DefaultConfig()
	c.Records = 2000
	run := drawnRun(t, c, 2, 5000, 0, nil)
	seen := run.Nodes[1].Summary.Seen
	seen.Keys.Packed = append(seen.Keys.Packed, 1, 3)
	if got := run.made(rows("ranks")).String(); !strings.Contains(got, "3 of the servers' sampled operations were on keys of no record") {
		t.Error(got)
	}
	seen.Keys.Packed = append(seen.Keys.Packed, 1)
	if got := run.made(rows("ranks")).String(); !strings.Contains(got, "not in their form, s1") {
		t.Error(got)
	}
	seen.Keys = nil
	if got := run.made(rows("ranks")).String(); got != "VALID" {
		t.Error(got)
	}
}

// The servers' shares of a hot set that moves are those of its places by the operations that the
// workers drew there, and those of one that stands are others.
func TestMovingShares(t *testing.T) {
	c := workload.DefaultConfig()
	c.Records, c.Distribution, c.HotKeys, c.HotOps, c.HotMove = 1000, workload.Hotspot, 0.01, 0.9, 40_000
	const servers, workers = 3, 4
	for seed := range uint64(10) {
		c.Seed = seed
		plan, flags := planned(t, c, "fnv", "user")
		owner, _ := owners(t, plan, c.Records, "fnv", "user", servers)
		still := c
		still.HotMove = 0
		stands, _ := planned(t, still, "fnv", "user")
		for _, test := range []struct {
			sends *workload.Plan
			want  metrics.CheckOutcome
		}{{plan, metrics.CheckPassed}, {stands, metrics.CheckFailed}} {
			run := &judged{}
			client := metrics.RunNode{Name: "c0", Role: metrics.Client, Summary: &metrics.Summary{Peers: make([]metrics.PeerCounts, servers)}}
			for i := range servers {
				run.Nodes = append(run.Nodes, metrics.RunNode{Name: fmt.Sprint("s", i), Role: metrics.Server, Summary: &metrics.Summary{}})
			}
			for worker := range workers {
				ops := make([]workload.Op, 20_000+7000*worker)
				test.sends.Source(workload.Place{Nodes: 1, Worker: worker, Workers: workers}).Fill(ops)
				for _, op := range ops {
					client.Summary.Peers[owner[op.Key]].Counts.Gets++
				}
				client.Summary.Workers = append(client.Summary.Workers, metrics.WorkerAccount{Drawn: uint64(len(ops))})
			}
			run.Nodes = append(run.Nodes, client)
			var err error
			if run.expected, err = expect(flags, servers, work.Drawn(&run.Run)...); err != nil {
				t.Fatal(err)
			}
			if got := checkKeys(run); got.Outcome != test.want || run.expected.Moves != 3 {
				t.Errorf("seed %d: %+v after %d moves, want %s", seed, got, run.expected.Moves, test.want)
			}
		}
	}
}
