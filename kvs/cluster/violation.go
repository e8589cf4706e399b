package cluster

import (
	"errors"
	"fmt"

	"kvlab/kvs/check"
)

// saveViolations writes the histories that were not linearizable into the run's
// folder, and says on the terminal how to verify them again.
func (c *conductor) saveViolations(dir folder) error {
	var errs []error
	for _, m := range c.members {
		if m.broken == nil {
			continue
		}
		path, err := check.Save(string(dir), m.Name, *m.broken)
		if err == nil {
			c.display.clear()
			fmt.Fprintf(c.display.w, "saved %s and its picture; bin/kvsclient -recheck %s verifies it again\n", path, path)
		}
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}
