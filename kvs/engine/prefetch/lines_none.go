//go:build !amd64 && !arm64

package prefetch

// lines does nothing on processors whose instruction is not given here.
func lines(*uintptr, int) {}
