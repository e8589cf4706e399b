package models

import (
	"kvlab/kvs"
	"kvlab/kvs/server"
)

// hybrid executes batches that only read in their connections' goroutines, and the others
// in a pool.
type hybrid struct{ *server.Pool }

// hybridWorkers is Flin's number of workers.
const hybridWorkers = 64

func openHybrid(argument string) func() (server.Model, error) {
	n, queue, ok := hybridWorkers, 0, true
	if argument != "" {
		n, queue, ok = server.ParseModel(argument)
	}
	if !ok {
		return nil
	}
	return func() (server.Model, error) { return server.ConnModel{Executor: hybrid{server.NewPool(n, queue)}}, nil }
}

func (h hybrid) Execute(c *server.Call) {
	if onlyReads(&c.Batch) {
		c.Execute()
	} else {
		h.Pool.Execute(c)
	}
}

// onlyReads reports whether a batch writes nothing, as far as it is well-formed.
func onlyReads(batch *kvs.Batch) bool {
	var ops [32]kvs.Op
	for cursor := batch.Ops(); ; {
		n, err := cursor.Next(ops[:])
		for i := range ops[:n] {
			if kind := ops[i].Kind; !kind.Reads() || kind.Writes() {
				return false
			}
		}
		if err != nil || n < len(ops) {
			return true
		}
	}
}
