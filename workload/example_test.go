package workload_test

import (
	"fmt"

	"kvlab/workload"
)

func Example() {
	config := workload.DefaultConfig() // YCSB-B: 95 % reads, zipfian with theta 0.99
	config.Records = 100
	plan, err := workload.New(config)
	if err != nil {
		fmt.Println(err)
		return
	}
	source := plan.Source(workload.Place{Nodes: 1, Worker: 7, Workers: 64}) // worker 7 of client node 0
	ops := make([]workload.Op, 5)
	source.Fill(ops)
	for _, op := range ops {
		fmt.Println(op.Kind, op.Key)
	}
	fmt.Printf("expected: %.0f %% reads, %.1f %% on record 0\n",
		100*plan.Share(workload.Read), 100*plan.Mass(0))
	// Output:
	// read 53
	// read 75
	// read 6
	// read 95
	// read 0
	// expected: 95 % reads, 18.9 % on record 0
}
