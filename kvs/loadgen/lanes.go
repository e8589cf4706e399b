package loadgen

import "kvlab/kvs/driver"

// laneWorkers is how many workers share a connection by default when calls are
// small. With 64 workers and one operation per call, over 1, 2, 4, 8 and 64
// connections, 4 connections made most on two cores (3.4, 3.8, 3.9, 3.7 and 1 times
// the last); fewer connections have the shorter tail, but use fewer cores.
const laneWorkers = 16

// Lanes is how many connections the client has to every server; its workers share
// them in turn. -connections sets it. By default every worker has its own, but
// laneWorkers share one when a batch and its reply are small enough to be sent
// together with others, and with -batch auto, which looks for such batches.
func (c Config) Lanes() int {
	switch {
	case c.Transport == driver.InProcess:
		return c.Workers
	case c.Connections > 0:
		return c.Connections
	case c.AutoBatch || c.Batch <= driver.MaxGroup/c.perOp():
		return (c.Workers + laneWorkers - 1) / laneWorkers
	}
	return c.Workers
}

// use is how the generator uses its driver, given the router's Fingerprint.
func (c Config) use(owners string) driver.Use {
	lanes := c.Lanes()
	return driver.Use{
		Shared:        lanes < c.Workers,
		CallsUnderWay: (c.Workers + lanes - 1) / lanes * c.InFlight,
		Records:       c.Workload.Records,
		Router:        c.Router,
		Owners:        owners,
	}
}
