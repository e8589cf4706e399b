package metrics

import (
	"math"
	"strings"
	"testing"
)

// zipfShares are the shares of the first records of n by Zipf's law, summed up
// the slow way.
func zipfShares(n int, theta float64, first int) []float64 {
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

func TestSkewExplains(t *testing.T) {
	s := Skew{Law: "-theta 1", Records: 1000, TopShare: zipfShares(1000, 1, 1)[0], Router: "fnv", Servers: []ServerShare{
		{"a", Share{0.3, 0.31}}, {"b", Share{0.4, 0.38}}, {"c", Share{0.3, 0.31}}},
		Balances: []RouterBalance{{2, 1, 0.9, 1}, {3, 1, 0.833, 0.999}}}
	for i, share := range zipfShares(1000, 1, 10) {
		s.Head = append(s.Head, HeadShare{i + 1, Share{share, share}})
	}
	text := strings.Join(s.Explain(), "\n")
	for _, want := range []string{
		"-theta 1 on 1000 records gives the most popular record 13.4 % of all operations, and the first 10 together 39.1 %",
		"So 7 servers at most can be equally busy, whatever the router; of 14, the busiest has 13.4 % at least, and together they make 53 % of what 14 can",
		"With 3 servers, -router fnv, which gives all equally many records, reaches a balance of 0.833, and -router balanced, which gives all equally many operations, 0.999; the best possible is 1.000",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("the explanation is\n%s\nwithout %q", text, want)
		}
	}
	if b := s.Busiest(); b.Server != "b" || b.Share != (Share{0.4, 0.38}) {
		t.Errorf("the busiest is %+v", b)
	}
	if b := s.Balance(); math.Abs(b.Theory-1/1.2) > 1e-12 || math.Abs(b.Observed-1/1.14) > 1e-12 {
		t.Errorf("balance %+v", b)
	}
	flat := Skew{Law: "-distribution uniform", Records: 1_000_000, TopShare: 1e-6}
	if text := strings.Join(flat.Explain(), "\n"); !strings.Contains(text, "none here has enough to stand in the way of any 1000 servers") {
		t.Errorf("without skew it is %s", text)
	}
	if (Skew{}).Explain() != nil {
		t.Error("nothing is explained")
	}
}
