//go:build amd64 || arm64

package prefetch

// lines prefetches n addresses. Go's compiler offers the instruction to the runtime only.
// Plain loads would overlap too, but block what follows them: with loads, a lookup in the
// slab engine among 10^6 records took twice as long.
//
//go:noescape
func lines(addresses *uintptr, n int)
