// Command burn uses a processor for at most a minute.
package main

import "time"

func main() {
	for end, x := time.Now().Add(time.Minute), uint64(0); time.Now().Before(end); {
		x = burn(x)
	}
}

//go:noinline
func burn(x uint64) uint64 {
	for i := range uint64(1e6) {
		x = x*31 + i
	}
	return x
}
