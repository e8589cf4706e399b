package kvstest

import (
	"errors"
	"fmt"

	"kvlab/kvs"
)

// ErrDigest is wrapped by DecodeVersions if the digest is not that of the held versions.
var ErrDigest = errors.New("wrong digest")

// VersionResult is a result of a reply with versions.
type VersionResult struct {
	kvs.Result
	Version   kvs.Version // 0 unless the reply has one
	Unchanged bool        // the operation read the value that the client holds
}

// DecodeVersions reads a reply with versions to its end, as a client does that has sent the
// operations with the held versions.
func DecodeVersions(r *kvs.Reply, ops []kvs.Op, held []kvs.Version) ([]VersionResult, error) {
	cursor, claimed, err := r.Versions()
	if err != nil {
		return nil, err
	}
	var digest uint64
	all := make([]VersionResult, len(ops))
	for i, op := range ops {
		result, version, err := cursor.NextVersion(op.Kind)
		if err != nil {
			return nil, err
		}
		all[i] = VersionResult{result, version, op.Kind.Reads() && !result.Read}
		if all[i].Unchanged {
			digest += kvs.Digest(op.Key, held[i])
		}
	}
	if digest != claimed {
		return nil, fmt.Errorf("%w: %016x, of the held versions %016x", ErrDigest, claimed, digest)
	}
	return all, cursor.End()
}
