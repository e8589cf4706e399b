//go:build !linux || race

package slab

// The race detector watches the collector's heap and nothing else. So under it
// regions come from there, and every access to a record, a slot or a segment's
// lock is checked. Systems other than Linux do with the same.

// regionBits is the binary logarithm of a region's size in bytes: 4 MiB, because
// here all of a region takes memory from the start.
const regionBits = 22

// aheadMost is 0: the collector has cleared a region before it is used.
const aheadMost = 0

func newRegion() ([]byte, error) { return make([]byte, regionSize), nil }

func populate([]byte) {}

func freeRegion([]byte) {} // the collector does it
