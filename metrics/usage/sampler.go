// Package usage reads once a second what this machine and this process use of
// processors, memory and network, and describes the machine.
package usage

import (
	"errors"
	"fmt"
	"time"

	"kvlab/metrics"
)

// Sampler turns the counters in /proc into Usage records, and into the Table of
// the measured window. HOST_PROC, when set, names another directory to read in
// place of /proc.
//
// It is not safe for concurrent use.
type Sampler struct {
	// DataInterface names the interface that carries the run's traffic, as InterfaceFor
	// found it. A node may learn it late: a server when its first client connects, but
	// before the window opens.
	DataInterface string

	start  time.Time
	proc   procFS
	last   reading
	window *window // nil when none is open
}

// NewSampler takes the first reading. Usage.StartS counts from start, the
// node's own start, so that usage lines up with the node's Interval records.
// Files that cannot be read are errors that name the file, and the line if one
// is at fault.
func NewSampler(start time.Time) (*Sampler, error) {
	proc, err := hostProc()
	if err != nil {
		return nil, fmt.Errorf("sample this machine: %w", err)
	}
	s := &Sampler{start: start, proc: proc}
	s.last, err = s.read()
	return s, err
}

// Sample returns the usage since the last call, or since NewSampler. After an
// error the next sample covers both intervals.
func (s *Sampler) Sample(phase metrics.Phase) (metrics.Usage, error) {
	now, err := s.read()
	if err != nil {
		return metrics.Usage{}, err
	}
	u := now.usage(s.last)
	u.Phase, u.DataInterface = phase, s.DataInterface
	u.StartS = s.last.at.Sub(s.start).Seconds()
	if s.window != nil {
		s.window.add(now)
		if !s.last.at.Before(s.window.first.at) {
			s.window.raise(u)
		}
	}
	s.last = now
	return u, nil
}

// OpenWindow begins the measured window. The data interface must be known.
func (s *Sampler) OpenWindow() error {
	if s.DataInterface == "" {
		return errors.New("open the window: the data interface is not known, no peer has connected")
	}
	now, err := s.read()
	if err != nil {
		return err
	}
	s.window = newWindow(now)
	s.window.quota = s.proc.quota()
	s.window.periods = s.window.quota.periods()
	return nil
}

// CloseWindow ends the measured window and returns what was used in it. The averages come
// from the counters at its two ends. The peaks come from the samples wholly inside
// it and are never below the average, which is all that a window shorter than two
// samples has. Saturation.Start is a time of this process.
func (s *Sampler) CloseWindow() (table metrics.Table, saturation metrics.Saturation, err error) {
	if s.window == nil {
		return table, saturation, errors.New("close the window: none is open")
	}
	now, err := s.read()
	if err != nil {
		return table, saturation, err
	}
	s.window.add(now)
	table, saturation = s.window.usage(s.DataInterface)
	s.window = nil
	return table, saturation, nil
}

// read takes a reading and insists on the data interface, once it is known.
func (s *Sampler) read() (reading, error) {
	now, err := s.proc.read()
	if err != nil {
		return reading{}, fmt.Errorf("sample this machine: %w", err)
	}
	if _, ok := now.links[s.DataInterface]; s.DataInterface != "" && !ok {
		return reading{}, fmt.Errorf("sample this machine: data interface %s is not in %s/net/dev", s.DataInterface, s.proc.dir)
	}
	return now, nil
}
