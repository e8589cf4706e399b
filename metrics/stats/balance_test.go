package stats

import (
	"math"
	"testing"
)

func TestBestBalance(t *testing.T) {
	top := zipf(1000, 1, 1)[0] // 1/7.4855
	for _, test := range []struct {
		servers int
		want    float64
	}{{1, 1}, {2, 1}, {7, 1}, {8, 7.485470860550345 / 8}, {16, 7.485470860550345 / 16}} {
		if got := BestBalance(test.servers, top); math.Abs(got-test.want) > 1e-12 {
			t.Errorf("%d servers: %v, want %v", test.servers, got, test.want)
		}
	}
}

// No way of dealing records out beats BestBalance, and the best of all of them is
// never far below it: six records on two and three servers, every way.
func TestBestBalanceBounds(t *testing.T) {
	shares := zipf(6, 1.2, 6)
	for servers := 2; servers <= 3; servers++ {
		best := 0.0
		for deal := range int(math.Pow(float64(servers), 6)) {
			load, most := make([]float64, servers), 0.0
			for _, share := range shares {
				load[deal%servers] += share
				most = max(most, load[deal%servers])
				deal /= servers
			}
			best = max(best, 1/(float64(servers)*most))
		}
		bound := BestBalance(servers, shares[0])
		if best > bound+1e-12 || best < 0.9*bound {
			t.Errorf("%d servers: the best of all deals is %v, the bound %v", servers, best, bound)
		}
	}
}

// zipf returns the shares of the first records of n by Zipf's law, summed up
// the slow way.
func zipf(n int, theta float64, first int) []float64 {
	sum := 0.0
	for k := 1; k <= n; k++ {
		sum += math.Pow(float64(k), -theta)
	}
	shares := make([]float64, first)
	for i := range shares {
		shares[i] = math.Pow(float64(i+1), -theta) / sum
	}
	return shares
}
