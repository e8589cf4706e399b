package chart

import (
	"cmp"
	"maps"
	"math"
	"slices"

	"kvlab/metrics"
	"kvlab/metrics/stats"
	"kvlab/plots/folder"
)

// WireLimit is the operations per second that the links between a point's nodes
// allow, from the bytes that the median operation of its valid trials took and
// the servers' shares of the first; 0 where the links' rate or the bytes are not
// known, or no link is needed.
func WireLimit(p folder.Point) float64 {
	if p.Run == nil {
		return 0
	}
	var sent, received []float64
	for _, trial := range p.Valid {
		sent, received = append(sent, trial.BytesPerOpSent), append(received, trial.BytesPerOpReceived)
	}
	goodput := stats.Goodput(float64(p.Valid[0].LinkBitsPerS) / 1e9)
	if p.Run.Lab != nil {
		goodput = stats.ShapedGoodput(p.Run.Lab.LinkBitsPerS)
	}
	served, loaded := machineOps(p.Run, metrics.Server), machineOps(p.Run, metrics.Client)
	wire := stats.Wire{
		Goodput:  goodput,
		Servers:  len(served),
		Clients:  len(loaded),
		ToServer: stats.Median(sent),
		ToClient: stats.Median(received),
		Balance:  stats.Balance(slices.Collect(maps.Values(served))),
	}
	if wire.Goodput == 0 || max(wire.ToServer, wire.ToClient) == 0 {
		return 0
	}
	limit := wire.Limit()
	if p.Run.Symmetric {
		limit = wire.SharedLimit()
	}
	if math.IsInf(limit, 1) {
		return 0
	}
	return limit
}

// machineOps is the operations in the window of each machine that has a role,
// by its name. A machine has one link, whatever runs on it.
func machineOps(r *folder.Run, role metrics.Role) map[string]uint64 {
	ops := map[string]uint64{}
	for _, node := range r.InRole(role) {
		machine := cmp.Or(node.Machine, node.Name)
		ops[machine] += 0
		if node.Summary != nil {
			ops[machine] += node.Summary.InWindow.Ops()
		}
	}
	return ops
}
