package trial

import (
	"errors"
	"fmt"

	"kvlab/kvs/history"
	"kvlab/metrics"
)

// allClients replaces the node's name in the file of a history that all clients recorded
// together.
const allClients = "clients"

// SaveViolations writes the histories that are not linearizable to the run's folder, and
// prints how to verify them again.
func (c *Controller) SaveViolations() error {
	names, broken := []string{allClients}, []*metrics.Violation{c.broken}
	for _, m := range c.processes {
		names, broken = append(names, m.Name), append(broken, m.broken)
	}
	var errs []error
	for i, v := range broken {
		if v == nil {
			continue
		}
		path, err := history.Save(string(c.Dir), names[i], *v)
		if errs = append(errs, err); err == nil {
			fmt.Fprintf(c.Stderr, "saved %s and its picture; bin/kvsclient -verify-history %s verifies it again\n", path, path)
		}
	}
	return errors.Join(errs...)
}
