package trial

import (
	"net/netip"

	"kvlab/kvs/certs"
	"kvlab/kvs/cluster/plan"
)

// credentials returns a place's credentials, nil if its arguments need none. They are
// sent over the control pipe and never written to a file.
func (c *Controller) credentials(place plan.Place, args []string) (*certs.Credentials, error) {
	if !plan.HasFlag(args, plan.EncryptionFlag) {
		return nil, nil
	}
	if c.authority == nil {
		var err error
		if c.authority, err = certs.NewAuthority(c.Plan.Trusted); err != nil {
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
