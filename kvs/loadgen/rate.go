package loadgen

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"

	"kvlab/workload"
)

// Rate is how many operations an open loop offers. At most one of the two is
// set; the zero Rate is a closed loop, which offers as many as are answered.
type Rate struct {
	OpsPerS float64 // of all clients together
	Share   float64 // of what the client's own closed loop makes in the first half of the warm-up, above 0
}

// Open says whether the loop is open.
func (r Rate) Open() bool { return r != Rate{} }

// ParseRate reads a number of operations per second, with k or M for thousands
// and millions, or a share in per cent: "200000", "200k", "1.5M", "70%".
func ParseRate(text string) (Rate, error) {
	number, share := strings.CutSuffix(text, "%")
	unit := 1.0
	for suffix, value := range map[string]float64{"k": 1e3, "M": 1e6} {
		if rest, ok := strings.CutSuffix(text, suffix); ok {
			number, unit = rest, value
		}
	}
	n, err := strconv.ParseFloat(number, 64)
	if err != nil || !(n > 0) || math.IsInf(n, 1) {
		return Rate{}, errors.New("want operations per second of all clients together, such as 200k, or a share of the measured peak, such as 70%")
	}
	if share {
		return Rate{Share: n / 100}, nil
	}
	return Rate{OpsPerS: n * unit}, nil
}

// String is what ParseRate reads; "" for a closed loop.
func (r Rate) String() string {
	switch {
	case r.Share > 0:
		return strconv.FormatFloat(100*r.Share, 'g', 12, 64) + "%"
	case r.OpsPerS > 0:
		return strconv.FormatFloat(r.OpsPerS, 'f', -1, 64)
	}
	return ""
}

// maxRate is one operation a nanosecond, the resolution of the moments at which
// they are due.
const maxRate = 1e9

func (c Config) validateRate() error {
	if !c.Rate.Open() {
		return nil
	}
	if err := workload.CheckArrivals(c.Arrivals); err != nil {
		return err
	}
	switch {
	case c.Rate.OpsPerS > maxRate:
		return fmt.Errorf("-rate %s: want at most %.0f operations per second", c.Rate, maxRate)
	case c.Rate.Share > 0 && c.WarmUp <= 0:
		return fmt.Errorf("-rate %s: the peak is measured in the warm-up: want -warmup above 0", c.Rate)
	case c.InFlight != 1:
		return fmt.Errorf("-inflight %d: an open loop takes each reply in at once: want -inflight 1, and more -workers for more calls under way", c.InFlight)
	}
	return nil
}

// place is where a worker stands among all of the run.
func (c Config) place(worker int) workload.Place {
	return workload.Place{Node: c.Index, Nodes: c.Clients, Worker: worker, Workers: c.Workers}
}
