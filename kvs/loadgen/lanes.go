package loadgen

import "kvlab/kvs/wire"

// sharers is how many workers share a connection by default when calls are small.
// Of 64 workers with one operation per call, over 1, 2, 4, 8 and 64 connections,
// the sixteen of each of 4 made most on two cores (3.4, 3.8, 3.9, 3.7 and 1 times
// the last); fewer connections have the shorter tail, but busy fewer cores.
const sharers = 16

// Lanes is how many connections the client has to every server; its workers
// share them in turn. Unless -connections says it, every worker has its own, but
// sharers of them share one when a batch and its reply are small enough to be sent
// together with others, and with -batch auto, which looks for such batches.
func (c Config) Lanes() int {
	switch {
	case c.Transport == InProcess:
		return c.Workers
	case c.Connections > 0:
		return c.Connections
	case c.AutoBatch || c.Batch <= wire.MaxGroup/c.perOp():
		return (c.Workers + sharers - 1) / sharers
	}
	return c.Workers
}

// link is what the client's end of every connection does, but for its hello.
func (c Config) link() wire.Options {
	return wire.Options{Token: c.Token, TLS: c.TLS, SocketBuffer: c.SocketBuffer, Shared: c.Lanes() < c.Workers, CallTimeout: c.CallTimeout}
}
