//go:build linux && !race

package slab

import (
	"fmt"
	"syscall"
)

// regionBits is the binary logarithm of a region's size in bytes: 128 MiB of
// address space, of which the system grants pages as they are first written.
const regionBits = 27

// aheadMost is how many bytes are kept ready before they are needed: what 5
// million records of 128 bytes a second take in 20 ms.
const aheadMost = 16 << 20

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

// populate has the system allocate and clear pages that were not touched yet; the
// others keep their content. See MADV_POPULATE_WRITE in
// https://man7.org/linux/man-pages/man2/madvise.2.html; systems before Linux
// 5.14 refuse, and allocate the pages when they are touched.
func populate(memory []byte) {
	const populateWrite = 23 // package syscall does not have it
	_ = syscall.Madvise(memory, populateWrite)
}

// freeRegion returns a region to the system. It must not be read afterwards.
func freeRegion(region []byte) {
	_ = syscall.Munmap(region) // it refuses only what newRegion did not return
}
