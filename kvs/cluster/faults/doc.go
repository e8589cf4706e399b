// Package faults has no code of its own. Its tests break a virtual lab in every
// way that a cluster breaks, and hold what the launcher makes of it against a
// table: the verdict and the node that it names, the exit status, the time that
// it took, and what is left behind.
package faults
