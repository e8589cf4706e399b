package trial

import (
	"errors"
	"fmt"

	"kvlab/kvs/history"
	"kvlab/metrics"
)

// allClients stands for the name of a node in the file of a history that all
// clients have made together.
const allClients = "clients"

// SaveViolations writes the histories that were not linearizable into the run's
// folder, and says on the terminal how to verify them again.
func (c *Controller) SaveViolations(dir Folder) error {
	errs := []error{c.saveViolation(dir, allClients, c.broken)}
	for _, m := range c.processes {
		errs = append(errs, c.saveViolation(dir, m.Name, m.broken))
	}
	return errors.Join(errs...)
}

// saveViolation saves one, unless there is none.
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
