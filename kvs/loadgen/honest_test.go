package loadgen

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"kvlab/kvs"
	"kvlab/kvs/cache"
	"kvlab/kvs/route"
	"kvlab/kvs/verdict"
	"kvlab/kvs/wire"
	"kvlab/workload"
)

// An honest run is VALID with any workload, kinds, router and values.
func TestHonestRunsAreValid(t *testing.T) {
	mixes := []func(*Config){
		func(c *Config) { c.Workload.Workload = workload.YCSBD },
		scanning,
		func(c *Config) { mixed(c, 0.3, 0.1, 0.1, 0.1) },
		func(c *Config) { mixed(c, 0.5, workload.StandardMix, 0.2, workload.StandardMix) },
		func(c *Config) { mixed(c, 0.5, 0.1, 0.1, workload.StandardMix) },
		func(c *Config) { mixed(c, 0.3, 0.1, workload.StandardMix, 0.1) },
	}
	for seed := range uint64(max(7, 3*runs())) {
		random := rand.New(rand.NewPCG(seed, 0))
		pick := func(of ...string) string { return of[random.IntN(len(of))] }
		c := trialOf(seed)
		c.Workload.ScanLength = 10
		c.Router, c.Codec = pick(route.Names...), pick(wire.Codecs...)
		if seed%2 == 0 {
			c.Workload.Workload = pick(workload.YCSBA, workload.YCSBB, workload.YCSBC, workload.YCSBF)
			c.Workload.Distribution = pick("", workload.Uniform, workload.Latest, workload.Hotspot, workload.Sequential)
			if d := c.Workload.Distribution; d == "" || d == workload.Hotspot {
				c.Workload.HotMove = []uint64{0, 10_000}[random.IntN(2)]
			}
			c.Workload.Zipfian = pick(workload.ZipfianYCSB, workload.ZipfianExact)
			c.Workload.Theta = []float64{0.5, 0.99, 1.5}[random.IntN(3)]
			_ = c.ValueSize.Set(pick("24", "25", "100", "5000", "24-1024", "etc"))
			_ = c.KeySize.Set(pick("", "", "16-40", "etc"))
		} else {
			mixes[seed/2%uint64(len(mixes))](&c)
			c.Workload.Distribution = pick("", workload.Uniform, workload.Latest, workload.Zipfian)
		}
		vary(&c, random)
		plan, err := workload.New(c.Workload)
		if err != nil {
			t.Fatal(err)
		}
		store := pick("syncmap", "slab")
		if slices.Contains(kindsOf(plan), kvs.Scan) {
			store, c.Cached = "btree", 0 // no engine has both
		}
		if valid, said := judged(t, c, mistake{store: store, ops: many}); !valid {
			t.Errorf("seed %d: %s of %+v", seed, said, c)
		}
	}
}

// tooFast offers more operations than a slow machine makes: the drain of the others ends with
// the time of a call.
func tooFast(c *Config) { c.Rate.OpsPerS, c.CallTimeout = 200_000, 10*time.Second }

// vary sets some of the flags that change how a run's operations are sent.
func vary(c *Config, random *rand.Rand) {
	half := func() bool { return random.IntN(2) == 0 }
	switch random.IntN(4) {
	case 0:
		c.AutoBatch, c.TargetLatency = true, DefaultTargetLatency
	case 1:
		tooFast(c)
	case 2:
		c.InFlight = 3
	}
	c.Linearizable = half()
	c.Workload.Scramble = half() && c.Workload.Distribution != workload.Sequential
	c.Connections = random.IntN(c.Workers + 1)
	c.KeyPrefix = []string{"", "user"}[random.IntN(2)]
	if c.Codec == "binary" {
		c.CRC, c.Dedup, c.Retry = half(), half(), half()
		c.Cached = []cache.Size{0, 0, 1 << 20, cache.All}[random.IntN(4)]
	}
}

// A run with -verify none is not VALID, and its load is checked all the same.
func TestVerifyNone(t *testing.T) {
	c := trialOf(3)
	c.Verify = VerifyNone
	run, err := trial(t, c, mistake{ops: many})
	if err != nil {
		t.Fatal(err)
	}
	v := run.Nodes[0].Summary.Verification
	if got := verdict.Judge(&run); got.Valid || !strings.Contains(got.Reason, "values were not checked at all (-verify none)") {
		t.Errorf("verdict %s", got)
	}
	if total := run.Nodes[0].Summary.Total; v.Checked != c.Workload.Records || v.Unchecked != total.Hits-v.Checked || v.Unchecked == 0 {
		t.Errorf("%d values checked, %d not, of %d hits", v.Checked, v.Unchecked, total.Hits)
	}
}
