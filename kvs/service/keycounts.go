package service

import (
	"sync"
	"sync/atomic"

	"kvlab/kvs/route"
	"kvlab/metrics"
)

// maxKeys is the most keys that keyCounts holds. Their report takes 12 KB, and the
// counts stay in the second-level cache.
const maxKeys = 2048

// keyCounts counts sampled operations by key: those on all keys, or, when these are more
// than maxKeys, on one key in 2, 4, 8, ..., selected by their hash (P. Flajolet, "On
// adaptive sampling", Computing 43, 1990). The counts of the selected keys are complete.
// It is safe for concurrent use.
type keyCounts struct {
	of   atomic.Uint64 // operations on all keys
	bits atomic.Uint32 // a key is selected if these highest bits of its route.Thin are 0

	mu     sync.Mutex
	counts map[uint64]uint32 // by route.Thin; guarded by mu
}

// add counts operations by their keys' hashes, which it overwrites.
func (k *keyCounts) add(hashes []uint64) {
	if len(hashes) == 0 {
		return
	}
	k.of.Add(uint64(len(hashes)))
	selected, shift := hashes[:0], 64-k.bits.Load()
	for _, hash := range hashes {
		if thin := route.Thin(hash); thin>>shift == 0 {
			selected = append(selected, thin)
		}
	}
	if len(selected) == 0 {
		return
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.counts == nil {
		k.counts = make(map[uint64]uint32)
	}
	for _, thin := range selected {
		if thin>>(64-k.bits.Load()) != 0 {
			continue // since then
		}
		k.counts[thin]++
		for len(k.counts) > maxKeys {
			k.halve()
		}
	}
}

// halve drops about half of the keys. mu is held.
func (k *keyCounts) halve() {
	shift := 64 - k.bits.Add(1)
	for thin := range k.counts {
		if thin>>shift != 0 {
			delete(k.counts, thin)
		}
	}
}

// report returns the counts.
func (k *keyCounts) report() *metrics.KeyCounts {
	k.mu.Lock()
	defer k.mu.Unlock()
	return metrics.PackKeyCounts(k.of.Load(), uint(k.bits.Load()), k.counts)
}
