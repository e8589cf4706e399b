package node

import (
	"flag"
	"fmt"
	"time"

	"kvlab/metrics"
)

// Sampling says how often a node samples its machine.
type Sampling struct {
	Every time.Duration // -sample-every; 0 is never
}

// Sampled is the usual Sampling, once in each report.
var Sampled = Sampling{Every: reportEvery}

// shortestSampling leaves time for what is sampled.
const shortestSampling = 10 * time.Millisecond

// Flags defines s's flags.
func (s *Sampling) Flags(flags *flag.FlagSet) {
	flags.DurationVar(&s.Every, "sample-every", s.Every, "`time` from one sample of the machine's usage to the next, "+shortestSampling.String()+" to "+reportEvery.String()+"; 0 takes none inside the window, to find out what samples cost")
}

// Validate returns an error that names the flag and its right form.
func (s Sampling) Validate() error {
	if s.Every != 0 && (s.Every < shortestSampling || s.Every > reportEvery) {
		return fmt.Errorf("-sample-every %s: want %s to %s, or 0", s.Every, shortestSampling, reportEvery)
	}
	return nil
}

// Sample sets how often the reporter samples the machine. It comes before Run.
func (r *Reporter) Sample(s Sampling) { r.sampling = s.Every }

// oftener ticks for the samples between two reports; never when there are none.
func (r *Reporter) oftener() (ticks <-chan time.Time, stop func()) {
	if r.sampling == 0 || r.sampling >= reportEvery {
		return nil, func() {}
	}
	ticker := time.NewTicker(r.sampling)
	return ticker.C, ticker.Stop
}

// sampleNow takes a sample between two reports.
func (r *Reporter) sampleNow() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	_, err := r.sample()
	return err
}

// sample samples the machine and reports that, if it is to.
func (r *Reporter) sample() (metrics.Usage, error) {
	if r.sampling == 0 {
		return metrics.Usage{}, nil
	}
	usage, err := r.sampler.Sample(r.phase)
	if err != nil {
		return usage, err
	}
	return usage, r.node.Report(metrics.Record{Usage: &usage})
}
