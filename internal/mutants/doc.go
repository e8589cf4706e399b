// Package mutants has only tests. They plant mistakes in the programs' source, one at a
// time, and check that a run of each mutant is INVALID for the right reason.
package mutants
