package verdict

import (
	"fmt"
	"math/bits"
	"strings"
	"testing"

	"kvlab/kvs/route"
	"kvlab/kvs/verdict/work"
	"kvlab/metrics"
	"kvlab/workload"
	"kvlab/workload/size"
)

// The servers' sums of what they applied on a connection are those of the operations that its
// workers load, draw and audit, to the last one.
func TestSent(t *testing.T) {
	const block = 512
	for _, test := range []struct {
		name  string
		spoil func(worker int, ops []workload.Op, all [][]workload.Op) // what each worker draws
		run   func(run *judged)
		want  string
	}{
		{"nothing", nil, nil, ""},
		{"later all send worker 0's", func(worker int, ops []workload.Op, all [][]workload.Op) {
			copy(ops[8192:], all[worker/sentWorkers*sentWorkers][8192:])
		}, nil, "the client sent others than it drew"},
		{"each block twice", func(_ int, ops []workload.Op, _ [][]workload.Op) {
			for at := 2 * block; at+2*block <= len(ops); at += 2 * block {
				copy(ops[at+block:at+2*block], ops[at:])
			}
		}, nil, "the client sent others than it drew"},
		{"one operation again, for another", func(_ int, ops []workload.Op, _ [][]workload.Op) { ops[len(ops)-1] = ops[0] }, nil, "the client sent others than it drew"},
		{"the kinds exchanged", func(_ int, ops []workload.Op, _ [][]workload.Op) {
			for i := range ops {
				ops[i].Kind = workload.Update - ops[i].Kind
			}
		}, nil, "the client sent others than it drew"},
		{"another order", func(_ int, ops []workload.Op, _ [][]workload.Op) { ops[0], ops[1] = ops[1], ops[0] }, nil, ""},
		{"another stream later, by the client's digest", nil, func(run *judged) { run.Nodes[2].Summary.Digests[1] = "1" }, "the 12000 operations of worker 1 are not those of its seed"},
		{"a hot set that does not move", func(worker int, ops []workload.Op, _ [][]workload.Op) {
			sentPlan(t, 0).Source(sentPlace(worker)).Fill(ops)
		}, nil, "the client sent others than it drew"},
		{"a hot set that moves eight operations late", func(worker int, ops []workload.Op, _ [][]workload.Op) {
			sentPlan(t, sentMove+8*2*sentWorkers).Source(sentPlace(worker)).Fill(ops)
		}, nil, "the client sent others than it drew"},
		{"no digests", nil, func(run *judged) { run.Nodes[1].Summary.Digests = nil }, "are not those of its seed"},
		{"no account of the keys", nil, func(run *judged) { run.Nodes[0].Summary.Peers[0].Sessions[0].Keys = nil }, "no account of the keys of 2 connections"},
		{"a foreign store", nil, func(run *judged) { run.Store, run.Nodes[0].Summary.Peers = new(metrics.Store), nil }, ""},
		{"a foreign store, and another stream", nil, func(run *judged) {
			run.Store, run.Nodes[0].Summary.Peers, run.Nodes[2].Summary.Digests[3] = new(metrics.Store), nil, "1"
		}, "the 12000 operations of worker 3 are not those of its seed"},
	} {
		run := sentRun(t, test.spoil)
		if test.run != nil {
			test.run(run)
		}
		v := run.made(rows("sent"))
		if v.Valid != (test.want == "") || !strings.Contains(v.Reason, test.want) {
			t.Errorf("%s: %s, want %q", test.name, v, test.want)
		}
	}
}

// sentWorkers are the workers of each of two clients, which have two connections each.
const sentWorkers = 4

// sentMove is the number of operations of all of them from one move of the hot set to the next.
const sentMove = 24_000

func sentPlan(t *testing.T, move uint64) *workload.Plan {
	c := workload.DefaultConfig()
	c.Workload, c.Seed, c.Records, c.HotMove = workload.YCSBA, 7, 1000, move
	plan, err := workload.New(c)
	if err != nil {
		t.Fatal(err)
	}
	return plan
}

// sentPlace returns the place of a worker of all.
func sentPlace(worker int) workload.Place {
	return workload.Place{Node: worker / sentWorkers, Nodes: 2, Worker: worker % sentWorkers, Workers: sentWorkers}
}

// sentRun returns a run of a server, to which each worker sends what spoil makes of what it draws.
func sentRun(t *testing.T, spoil func(worker int, ops []workload.Op, all [][]workload.Op)) *judged {
	const clients, workers, drawn = 2, sentWorkers, 12_000
	config := workload.DefaultConfig()
	config.Records = 1000
	flags := metrics.Settings{"workload": "YCSB-A", "seed": "7", "records": "1000", "hot-move": fmt.Sprint(sentMove), "key-prefix": "user", "codec": "binary"}
	plan := sentPlan(t, sentMove)
	run := &judged{}
	run.Workload, run.Choice, run.Audit = flags, "f3", &metrics.Audit{Secret: "5", Each: 3}
	server := &metrics.Summary{}
	run.Nodes = []metrics.RunNode{{Name: "s0", Role: metrics.Server, Summary: server}}
	audited := plan.Sample(5, 3)
	spots := workload.SampleSpots(5, len(audited))
	var all [][]workload.Op
	for i := range clients {
		client := &metrics.Summary{}
		run.Nodes = append(run.Nodes, metrics.RunNode{Name: fmt.Sprint("c", i), Role: metrics.Client, Summary: client})
		for k := range workers {
			source := plan.Source(sentPlace(i*workers + k))
			ops := make([]workload.Op, drawn)
			source.Fill(ops)
			all = append(all, ops)
			client.Digests = append(client.Digests, fmt.Sprintf("%016x", source.Digest()))
			client.Workers = append(client.Workers, metrics.WorkerAccount{Drawn: drawn, Verified: drawn})
		}
	}
	names, sums := route.NewKeys(config, "user", size.Law{}), make([][2]uint64, clients) // two connections each
	for i := range all {
		if spoil != nil {
			spoil(i, all[i], all)
		}
	}
	add := func(client, worker int, kind workload.Kind, id uint64) {
		key, _ := names.Append(nil, id)
		sums[client][worker%2] += bits.RotateLeft64(route.Word(key), int(kind))
	}
	for i, ops := range all {
		for _, op := range ops {
			add(i/workers, i%workers, op.Kind, op.Key)
		}
	}
	for id := range config.Records { // 125 each
		worker := int(id / 125)
		add(worker/workers, worker%workers, workload.Update, id)
		add(worker/workers, worker%workers, workload.Read, id)
	}
	audits := func(nodes, client, worker int, numbers int, id func(int) uint64) {
		from, to := workload.Place{Node: client % nodes, Nodes: nodes, Worker: worker, Workers: workers}.Part(uint64(numbers))
		for ; from < to; from++ {
			add(client, worker, workload.Read, id(int(from)))
		}
	}
	for i := range clients * workers {
		audits(clients, i/workers, i%workers, len(audited), func(n int) uint64 { return plan.Key(audited[n]) })
		audits(1, i/workers, i%workers, len(spots), func(n int) uint64 { return plan.Key(audited[spots[n]]) })
	}
	for i := range clients {
		server.Peers = append(server.Peers, metrics.PeerCounts{Peer: fmt.Sprint("c", i), Sessions: []metrics.Sessions{{
			Protocol: metrics.Protocol{Codec: "binary"}, Ops: []uint64{1, 1}, Keys: sums[i][:]}}})
	}
	var err error
	if run.expected, err = expect(flags, 1, work.Drawn(&run.Run)...); err != nil {
		t.Fatal(err)
	}
	return run
}
