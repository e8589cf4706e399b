package engine

import (
	"kvlab/kvs"
	"kvlab/kvs/engine/slab"
)

// Preparer returns what makes room in e for records that are to come, as far as
// that takes at most most bytes, and says for how many there is; nil where e has
// no use for it. See slab.Engine.Prepare.
func Preparer(e kvs.Engine) func(x kvs.Expected, most uint64) (room uint64, err error) {
	s, ok := e.(*slab.Engine)
	if !ok {
		return nil
	}
	return func(x kvs.Expected, most uint64) (uint64, error) {
		return s.Prepare(x.Records, x.KeyBytes+x.ValueBytes, most)
	}
}
