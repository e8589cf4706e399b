package loadgen

import (
	"fmt"
	"math"
	"testing"

	"kvlab/kvs/verdict"
)

// The shares of the most popular records in the servers' samples follow the theory,
// within the error of a small sample.
func TestSkewIsSeen(t *testing.T) {
	for _, theta := range []float64{0.99, 1.5} {
		for _, router := range []string{"fnv", "balanced"} {
			t.Run(fmt.Sprintf("theta %v %s", theta, router), func(t *testing.T) {
				c := trialOf(7)
				c.Workload.Theta, c.Router = theta, router
				run, err := trial(t, c, mistake{ops: many})
				if err != nil {
					t.Fatal(err)
				}
				if v := verdict.Judge(&run); !v.Valid {
					t.Fatal(v)
				}
				s := run.Skew
				if len(s.Head) != 10 || s.SampledOps < 1000 || s.HitRate != 1 || s.Router != router {
					t.Fatalf("skew %+v", s)
				}
				for _, h := range s.Head {
					if off := math.Abs(h.Observed - h.Theory); off > 6*math.Sqrt(h.Theory/float64(s.SampledOps)) {
						t.Errorf("rank %d: %v, in theory %v, of %d sampled operations", h.Rank, h.Observed, h.Theory, s.SampledOps)
					}
				}
				for _, server := range s.Servers {
					if math.Abs(server.Observed-server.Theory) > 0.02 {
						t.Errorf("server %+v", server)
					}
				}
			})
		}
	}
}
