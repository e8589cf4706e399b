// Package faultproxy is a TCP proxy for tests. It injects the faults of networks,
// middleboxes and failing machines at given byte offsets, so that the same faults
// reproduce a failure.
package faultproxy

import (
	"fmt"
	"time"
)

// Kind is what a fault does.
type Kind int

// The kinds. The bytes before At always arrive.
const (
	Delay     Kind = iota // bytes from At on arrive Delay later, plus up to Jitter
	Throttle              // bytes from At on arrive at Rate bytes per second
	Cut                   // at At both ends are reset (RST)
	Truncate              // at At both ends see an orderly end (FIN)
	Duplicate             // the Len bytes from At on arrive twice
	Flip                  // bit Bit of byte At arrives inverted
	BlackHole             // nothing from At on arrives, without an error
	kinds
)

var kindNames = [kinds]string{"delay", "throttle", "cut", "truncate", "duplicate", "flip", "black hole"}

func (k Kind) String() string { return kindNames[k] }

// Way is the direction that a fault concerns.
type Way int

// The ways.
const (
	ToServer Way = iota
	ToClient
	ways
)

func (w Way) String() string { return [ways]string{"to server", "to client"}[w] }

// Fault is one thing that goes wrong with one connection in one direction.
type Fault struct {
	Kind   Kind
	Way    Way
	At     int64         // bytes of that direction before the fault
	Delay  time.Duration // of Delay
	Jitter time.Duration // of Delay
	Rate   int           // of Throttle: bytes per second, at least 1
	Len    int           // of Duplicate: bytes
	Bit    uint8         // of Flip: 0 to 7
}

func (f Fault) String() string { return fmt.Sprintf("%v %v at %d", f.Kind, f.Way, f.At) }
