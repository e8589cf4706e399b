package slab

import "unsafe"

// address returns where p points to, for prefetch.
func address[T any](p *T) uintptr { return uintptr(unsafe.Pointer(p)) }
