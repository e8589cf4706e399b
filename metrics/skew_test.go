package metrics

import (
	"math"
	"testing"
)

func TestSkewBalance(t *testing.T) {
	s := Skew{Servers: []ServerShare{
		{"a", Share{0.3, 0.31}}, {"b", Share{0.4, 0.38}}, {"c", Share{0.3, 0.31}}}}
	if b := s.Busiest(); b.Server != "b" || b.Share != (Share{0.4, 0.38}) {
		t.Errorf("the busiest is %+v", b)
	}
	if b := s.Balance(); math.Abs(b.Theory-1/1.2) > 1e-12 || math.Abs(b.Observed-1/1.14) > 1e-12 {
		t.Errorf("balance %+v", b)
	}
}
