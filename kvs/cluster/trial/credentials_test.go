package trial

import (
	"testing"

	"kvlab/kvs/cluster/plan"
	"kvlab/metrics"
)

// Each place whose arguments ask for TLS gets a separate certificate from one
// authority. The others get none.
func TestCredentials(t *testing.T) {
	c := &Controller{Setup: Setup{Plan: plan.Plan{Trusted: plan.Spec{}.Trusted()}}}
	place := plan.Place{Name: "node0", Role: metrics.Server, Data: "10.10.1.1"}
	if none, err := c.credentials(place, []string{"-node", "node0"}); none != nil || err != nil {
		t.Errorf("without -tls: %v, %v", none, err)
	}
	one, err := c.credentials(place, []string{"-tls"})
	if err != nil {
		t.Fatal(err)
	}
	other, err := c.credentials(place, []string{"-tls=true"})
	if err != nil {
		t.Fatal(err)
	}
	if one.Authority != other.Authority || one.Key == other.Key || one.Certificate == other.Certificate {
		t.Error("two places have one certificate, or two authorities")
	}
	if _, err := one.Config(); err != nil {
		t.Error(err)
	}
}
