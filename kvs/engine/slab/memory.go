//go:build linux && !race

package slab

import (
	"fmt"
	"syscall"
)

// regionBits is the binary logarithm of a region's size in bytes: 128 MiB of
// address space, of which the system grants pages as they are first written.
const regionBits = 27

// newRegion maps a region of zeros outside of the collector's heap, in huge
// pages where the system grants them: with small ones nearly every lookup in a
// large store also misses the translation buffer. See
// https://docs.kernel.org/admin-guide/mm/transhuge.html.
func newRegion() ([]byte, error) {
	region, err := syscall.Mmap(-1, 0, regionSize, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_ANON|syscall.MAP_PRIVATE)
	if err != nil {
		return nil, fmt.Errorf("map %d MiB of memory for the slab engine: %w", regionSize>>20, err)
	}
	_ = syscall.Madvise(region, syscall.MADV_HUGEPAGE) // refused: small pages do too
	return region, nil
}

// freeRegion returns a region to the system; nobody may look at it any more.
func freeRegion(region []byte) {
	_ = syscall.Munmap(region) // it refuses only what newRegion did not return
}
