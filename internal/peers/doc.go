// Package peers holds the benchmarks of whole programs beside a real peer: Redis, and the
// limits of a link and of a machine.
package peers
