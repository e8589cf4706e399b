//go:build !amd64 && !arm64

package slab

// prefetch does nothing on processors whose instruction is not given here.
func prefetch(*uintptr, int) {}
