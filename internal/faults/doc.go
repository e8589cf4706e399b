// Package faults has only tests. They break a virtual lab in every way that a cluster
// breaks, and check the launcher's reaction against a table: the verdict and the node
// that it names, the exit status, the time, and what is left behind.
package faults
