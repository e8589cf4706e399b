package engine

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Fault slows a server down by a known amount, to test the measurement. The zero Fault is
// none.
type Fault struct {
	Slowdown float64       // additional processor time, as a share of the process's other work
	Pause    time.Duration // no operation is applied
	Every    time.Duration // from one pause to the next
	Service  time.Duration // added to every call
}

const faultForm = "want slowdown=5%, pause=100ms@10s or service=1ms: a slowdown is 0.1% to 100%, a pause at most half of its period, a service time at most 1s"

// ParseFault parses a fault: slowdown=SHARE, pause=TIME@PERIOD or service=TIME; "" is
// none. Its errors show the right form.
func ParseFault(text string) (i Fault, err error) {
	name, value, _ := strings.Cut(text, "=")
	valid := text == "" // a value that cannot be parsed is 0, NaN or Inf
	switch name {
	case "slowdown":
		number, percent := strings.CutSuffix(value, "%")
		i.Slowdown, _ = strconv.ParseFloat(number, 64)
		i.Slowdown /= 100
		valid = percent && i.Slowdown >= 0.001 && i.Slowdown <= 1
	case "pause":
		length, period, _ := strings.Cut(value, "@")
		i.Pause, _ = time.ParseDuration(length)
		i.Every, _ = time.ParseDuration(period)
		valid = i.Pause > 0 && i.Every >= 2*i.Pause
	case "service":
		i.Service, _ = time.ParseDuration(value)
		valid = i.Service > 0 && i.Service <= time.Second
	}
	if !valid {
		return Fault{}, fmt.Errorf("-inject %q: %s", text, faultForm)
	}
	return i, nil
}
