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
func (c *Controller) SaveViolations(dir Folder) error {
	errs := []error{c.saveViolation(dir, allClients, c.broken)}
	for _, m := range c.processes {
		errs = append(errs, c.saveViolation(dir, m.Name, m.broken))
	}
	return errors.Join(errs...)
}

// saveViolation saves a history, unless v is nil.
func (c *Controller) saveViolation(dir Folder, of string, v *metrics.Violation) error {
	if v == nil {
		return nil
	}
	path, err := history.Save(string(dir), of, *v)
	if err == nil {
		c.display.clear()
		fmt.Fprintf(c.display.w, "saved %s and its picture; bin/kvsclient -verify-history %s verifies it again\n", path, path)
	}
	return err
}
