package trial

import (
	"crypto/rand"
	"encoding/binary"
	"fmt"

	"kvlab/metrics"
)

// newSecret returns 63 random bits. It is not 0.
func newSecret() uint64 {
	var secret [8]byte
	_, _ = rand.Read(secret[:]) // never fails
	return binary.LittleEndian.Uint64(secret[:]) | 1
}

// Audited returns what the clients read after the drain, and the secret that selected it,
// in hex.
func (c *Controller) Audited() (secret string, records []metrics.AuditRecord) {
	return fmt.Sprintf("%016x", c.secret), metrics.Audits(reportsOf(c.processes))
}
