// Package workload determines the operations of a run: endless, seeded streams of
// reads, writes and scans on the records 0 to N-1, and of inserts of further ones. It is pure:
// the same configuration always gives the same operations.
//
// An operation takes four steps:
//
//  1. Config names a workload, a distribution and a seed.
//  2. New checks the configuration and turns the distribution into a Plan: an alias table over segments of
//     popularity ranks. All workers of a node share it.
//  3. Plan.Source returns a worker's generator, seeded by the run's seed and the
//     worker's place.
//  4. Source.Fill draws a rank from the table, maps the rank to a record id (with Latest also
//     to the id of an acknowledged insert) and draws the kind of operation.
//
// A draw takes two random words and two table reads. It computes no power and
// rejects nothing. The table hardly grows with the number of records: it has 7,000
// segments for 10^6 records, and 9,300 for 10^8. A plan of any size takes
// milliseconds to make, and its table fits the second-level cache. An alias table over
// 10^6 records would take 8 MB. YCSB's formula computes a power in each draw and takes
// seven times as long (BenchmarkFill, BenchmarkYCSBFormula).
package workload
