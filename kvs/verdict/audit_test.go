package verdict

import (
	"testing"

	"kvlab/metrics"
)

// A run whose clients had a key of the values has an audit.
func TestAuditMissing(t *testing.T) {
	for key, want := range map[string]bool{"": false, "0102030405060708090a0b0c0d0e0f10": true} {
		if got := checkAudit(&judged{Run: metrics.Run{ValueKey: key}}); got.failed() != want {
			t.Errorf("key %q: %+v, want failed %v", key, got, want)
		}
	}
}
