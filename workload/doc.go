// Package workload says which operation comes next: an endless, seeded stream
// of reads and writes over the records 0 to N-1. It is pure: the same
// configuration gives the same operations whenever it runs.
//
// An operation is made in four steps:
//
//  1. Config names a workload, a distribution and a seed; Validate checks it.
//  2. New turns the distribution into a Plan: an alias table over segments of
//     popularity ranks. All workers of a node share it.
//  3. Plan.Source gives each worker a generator of its own, seeded by the run's
//     seed and the worker's place.
//  4. Source.Fill draws a rank from the table, maps the rank to a record id and
//     chooses the kind of operation.
//
// A draw takes two random words and two table reads; it computes no power and
// rejects nothing. The table hardly grows with the number of records: 7,000
// segments for 10^6, 9,300 for 10^8. So a plan of any size is set up in
// milliseconds and sampled from the second-level cache, where an alias table
// over 10^6 records would take 8 MB, and YCSB's formula, with a power in each
// draw, seven times as long (BenchmarkFill, BenchmarkYCSBFormula).
package workload
