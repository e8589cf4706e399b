package driver

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"kvlab/kvs"
	"kvlab/kvs/wire"
	"kvlab/metrics/format"
)

// CheckForeign is the part of a Row's Check that foreign stores share: it refuses flags that
// only kvlab's servers understand, kinds that the store lacks, and settings that are not
// among the driver's.
func (o Options) CheckForeign(u Use, has func(kvs.Kind) bool, settings ...string) error {
	alone := func(flag string, is any, unset bool) error {
		return format.Want(unset, flag, is, "the default: -transport %s has kvlab's servers only", o.Transport)
	}
	err := cmp.Or(alone("-retry", o.Retry, !o.Retry), alone("-dedup", o.Dedup, !o.Dedup), alone("-crc", o.CRC, !o.CRC),
		alone("-codec", o.Codec, o.Codec == wire.Codecs[0]))
	if err != nil {
		return err
	}
	for _, kind := range u.Kinds {
		if !has(kind) {
			return fmt.Errorf("-transport %s has no %s: want a workload without it", o.Transport, kind)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(o.Settings)) {
		if !slices.Contains(settings, name) {
			return fmt.Errorf("setting %s: -transport %s has none of this name%s; want %s",
				name, o.Transport, format.DidYouMean(name, "", settings), cmp.Or(strings.Join(settings, ", "), "none"))
		}
	}
	return nil
}
