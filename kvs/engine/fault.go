package engine

import (
	"errors"
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

const faultForm = "want slowdown=5%, pause=100ms@10s or service=1ms"

// ParseFault parses a fault: slowdown=SHARE, pause=TIME@PERIOD or service=TIME; "" is
// none. Its errors show the right form.
func ParseFault(text string) (i Fault, err error) {
	if text == "" {
		return i, nil
	}
	name, value, _ := strings.Cut(text, "=")
	switch name {
	case "slowdown":
		number, percent := strings.CutSuffix(value, "%")
		i.Slowdown, err = strconv.ParseFloat(number, 64)
		i.Slowdown /= 100
		if err == nil && (!percent || !(i.Slowdown >= 0.001 && i.Slowdown <= 1)) {
			err = errors.New("a slowdown is 0.1% to 100%")
		}
	case "pause":
		length, period, _ := strings.Cut(value, "@")
		if i.Pause, err = time.ParseDuration(length); err == nil {
			i.Every, err = time.ParseDuration(period)
		}
		if err == nil && (i.Pause <= 0 || i.Every < 2*i.Pause) {
			err = errors.New("a pause is above 0, and at most half of its period")
		}
	case "service":
		i.Service, err = time.ParseDuration(value)
		if err == nil && (i.Service <= 0 || i.Service > time.Second) {
			err = errors.New("a service time is above 0 and at most 1s")
		}
	default:
		err = errors.New("unknown fault")
	}
	if err != nil {
		return Fault{}, fmt.Errorf("-inject %q: %s (%w)", text, faultForm, err)
	}
	return i, nil
}
