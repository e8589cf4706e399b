package cluster

import (
	"flag"
	"net/netip"

	"kvlab/kvs/certs"
	"kvlab/kvs/cluster/plan"
)

// encryptionFlags defines the flag that says whether calls are encrypted.
func (c *Config) encryptionFlags(fs *flag.FlagSet) {
	fs.BoolVar(&c.TLS, plan.EncryptionFlag, false, "encrypt all calls (TLS 1.3), with an authority and certificates of this run's own, which servers and clients verify: the same as -tls in the arguments of both; such a run compares only with its like")
}

// credentials are what a place gets for its arguments, nil when they do not ask
// for any. They go through the control pipe, and nobody writes them down.
func (c *conductor) credentials(place plan.Place, args []string) (*certs.Credentials, error) {
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
