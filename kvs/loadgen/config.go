// Package loadgen is one client node's run: it loads its share of the records,
// drives the workload from many workers, checks every reply and counts what is
// right.
//
// A worker owns all it touches: its operation source, its batches and replies,
// its connections, its recorder. It goes round and round: draw operations in
// order, put each in the batch of the server that owns its key, send all
// batches, and check each reply against its batch when it comes.
package loadgen

import (
	"fmt"
	"math"
	"time"

	"kvlab/kvs"
	"kvlab/kvs/driver"
	"kvlab/kvs/route"
	"kvlab/kvs/value"
	"kvlab/workload"
)

// Config says what one client node does. Start from DefaultConfig. The comments
// name the flags.
type Config struct {
	driver.Options
	Workload      workload.Config
	Index         int           // -client: which client this is, from 0
	Clients       int           // -clients: how many there are
	Router        string        // -router
	Workers       int           // -workers: worker goroutines
	Connections   int           // -connections: to every server, which workers share in turn; 0 is what suits the batch
	Batch         int           // -batch: mean operations per call
	AutoBatch     bool          // -batch auto: adapted to TargetLatency, and Batch is the load phase's alone
	TargetLatency time.Duration // -target-latency: of a call, with AutoBatch
	InFlight      int           // -inflight: rounds that a worker keeps under way
	ValueSize     int           // -value-size: bytes
	KeyPrefix     string        // -key-prefix: stands before the decimal record id
	Repeat        bool          // -repeat: the first round is sent again and again, and no reply is checked
	Verify        int           // -verify: one value in so many is compared in full; 1 is every value, VerifyNone none, not even by its header
	Check         bool          // -linearizable: whether operations on some keys are verified to be linearizable
	Rate          Rate          // -rate: of an open loop; the zero Rate is a closed one
	Arrivals      string        // -arrivals: of an open loop
	WarmUp        time.Duration // -warmup: before the window
	Window        time.Duration // -secs: the measured window
}

// VerifyNone in Config.Verify leaves the values of the workload unchecked, to measure
// what the checks cost. Such a run is never VALID.
const VerifyNone = 0

// DefaultTargetLatency is -target-latency's value when only -batch auto is given.
const DefaultTargetLatency = time.Millisecond

// DefaultConfig is the run that DESIGN section 4 describes, against one server.
func DefaultConfig() Config {
	return Config{
		Options:   driver.DefaultOptions(),
		Workload:  workload.DefaultConfig(),
		Clients:   1,
		Router:    route.Names[0],
		Workers:   64,
		Batch:     8192,
		InFlight:  1,
		ValueSize: 128,
		Verify:    16,
		Arrivals:  workload.Poisson,

		WarmUp: 5 * time.Second,
		Window: 30 * time.Second,
	}
}

// Servers is the number of servers that keys are spread over.
func (c Config) Servers() int { return len(c.Addresses()) }

// maxWorkers is what a value's header has room for.
const maxWorkers = 1 << 16

// maxInFlight bounds the memory of a worker's rounds.
const maxInFlight = 64

// longestID is the decimal length of the largest record id.
const longestID = 20

// Validate returns an error that names the first wrong flag and its right form.
func (c Config) Validate() error {
	checks := []struct {
		ok   bool
		flag string
		got  any
		want string
	}{
		{c.Clients >= 1 && c.Clients <= maxWorkers, "-clients", c.Clients, fmt.Sprintf("1 to %d", maxWorkers)},
		{c.Index >= 0 && c.Index < c.Clients, "-client", c.Index, fmt.Sprintf("0 to %d, one less than -clients", c.Clients-1)},
		{c.Workers >= 1 && c.Workers <= maxWorkers, "-workers", c.Workers, fmt.Sprintf("1 to %d", maxWorkers)},
		{c.Connections >= 0 && c.Connections <= c.Workers, "-connections", c.Connections, fmt.Sprintf("1 to %d (-workers), or 0 for what suits -batch", c.Workers)},
		{c.Batch >= 1, "-batch", c.Batch, "at least 1 operation per call"},
		{c.AutoBatch || c.TargetLatency == 0, "-target-latency", c.TargetLatency, "it only with -batch auto"},
		{!c.AutoBatch || c.TargetLatency > 0, "-target-latency", c.TargetLatency, "more than 0, such as 1ms"},
		{c.InFlight >= 1 && c.InFlight <= maxInFlight, "-inflight", c.InFlight, fmt.Sprintf("1 to %d rounds", maxInFlight)},
		{c.ValueSize >= value.HeaderLen && c.ValueSize <= kvs.MaxValueLen, "-value-size", c.ValueSize,
			fmt.Sprintf("%d (the header that every value is checked by) to %d bytes", value.HeaderLen, kvs.MaxValueLen)},
		{len(c.KeyPrefix)+longestID <= kvs.MaxKeyLen, "-key-prefix", c.KeyPrefix, fmt.Sprintf("at most %d bytes", kvs.MaxKeyLen-longestID)},
		{!c.Repeat || !c.AutoBatch && !c.Rate.Open(), "-repeat", c.Repeat, "neither -batch auto nor -rate with it"},
		{c.Verify >= VerifyNone && c.Verify <= math.MaxInt32, "-verify", c.Verify, "full, N to compare one value in N, or none"},
		{c.WarmUp >= 0, "-warmup", c.WarmUp, "0 or more seconds"},
		{c.Window > 0, "-secs", c.Window, "more than 0 seconds"},
	}
	for _, check := range checks {
		if !check.ok {
			return fmt.Errorf("%s %v: want %s", check.flag, check.got, check.want)
		}
	}
	return c.validateParts()
}

func (c Config) validateParts() error {
	if err := c.Workload.Validate(); err != nil {
		return err
	}
	if err := c.validateRate(); err != nil {
		return err
	}
	if err := c.Options.Validate(c.use("")); err != nil {
		return err
	}
	if _, err := route.New(c.Router, c.Servers(), nil); err != nil {
		return err
	}
	return c.validateFrames()
}

func (c Config) validateFrames() error {
	most := c.most()
	if c.AutoBatch && most >= 1 || !c.AutoBatch && c.Batch <= most {
		return nil
	}
	batch := any(c.Batch)
	if c.AutoBatch {
		batch = "auto"
	}
	return fmt.Errorf("-batch %v: with -value-size %d and %d servers at most %d operations fit a frame of %d bytes",
		batch, c.ValueSize, c.Servers(), most, driver.MaxCall)
}

// perOp bounds the bytes of an operation in a request and in a reply.
func (c Config) perOp() int { return c.ValueSize + len(c.KeyPrefix) + longestID + 8 }

// most is the largest batch: all of a round may go to one server, whose reply
// must fit a frame.
func (c Config) most() int { return driver.MaxCall / c.perOp() / c.Servers() }

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
