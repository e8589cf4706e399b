package trial

import (
	"errors"
	"os"

	"kvlab/kvs/cluster/plan"
	"kvlab/metrics"
	"kvlab/metrics/latency"
)

// latencyLog is a run's latency.hlog, written as the clients' records arrive.
type latencyLog struct {
	*latency.Log
	file *os.File
}

// createLatencyLog creates the file in a run's folder.
func createLatencyLog(f Folder) (*latencyLog, error) {
	file, err := os.Create(f.Path("latency.hlog"))
	if err != nil {
		return nil, err
	}
	return &latencyLog{latency.NewLog(diskWriter{file}), file}, nil
}

// close writes the last seconds.
func (l *latencyLog) close() error {
	return errors.Join(l.Log.Close(), l.file.Sync(), l.file.Close())
}

// closeLatency closes the log of a run that ended with err. It returns err, or else the
// error of the close.
func (c *Controller) closeLatency(err error) error {
	if closing := c.latency.close(); closing != nil && err == nil {
		return diskError{closing}.fault()
	}
	return err
}

// time adds a process's record to the latencies of all clients.
func (c *Controller) time(m *process, r *metrics.Record) *plan.Fault {
	if m.Role != metrics.Client || c.latency == nil {
		return nil
	}
	err := c.latency.Add(*r)
	var disk diskError
	switch {
	case errors.As(err, &disk):
		return disk.fault()
	case err != nil:
		return m.fault(plan.Complaint, "%v", err)
	}
	return nil
}

// Quantiles returns the quantiles of all clients' latencies. It refuses them if the run
// did not reach its offered load.
func (c *Controller) Quantiles(run metrics.Run) map[string]metrics.Quantiles {
	all := latency.NewSet()
	if c.latency != nil {
		all = c.latency.Window()
	}
	quantiles := all.Quantiles()
	if run.Offered != nil {
		if why := run.Offered.Saturated(run.Ops); why != "" {
			metrics.Refuse(quantiles, why)
		}
	}
	return quantiles
}
