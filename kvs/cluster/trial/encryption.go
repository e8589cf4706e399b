package trial

import (
	"net/netip"

	"kvlab/kvs/certs"
	"kvlab/kvs/cluster/plan"
)

// credentials are what a place gets for its arguments, nil when they do not ask
// for any. They go through the control pipe, and nobody writes them down.
func (c *Controller) credentials(place plan.Place, args []string) (*certs.Credentials, error) {
	if !plan.HasFlag(args, plan.EncryptionFlag) {
		return nil, nil
	}
	if c.authority == nil {
		var err error
		if c.authority, err = certs.NewAuthority(c.plan.Trusted); err != nil {
			return nil, err
		}
	}
	data, err := netip.ParseAddr(place.Data)
	if err != nil {
		return nil, err
	}
	own, err := c.authority.Issue(place.Name, data)
	return &own, err
}
