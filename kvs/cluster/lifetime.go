package cluster

import (
	"errors"
	"flag"
	"fmt"
)

// lifetimeFlags defines the flags that say how long nodes' processes live.
func (c *Config) lifetimeFlags(fs *flag.FlagSet) {
	fs.BoolVar(&c.Reap, "reap", false, "end what runs of this user have left on the nodes, a run under way too, by pid and start time; start nothing")
	fs.DurationVar(&c.Deadline, "deadline", 0, "`time` such as 10m after which a trial has failed: every node logs its goroutines' stacks and is ended (default: what its steps may take, about 35m and the window)")
}

// validateLifetime names the first of those flags that is wrong.
func (c Config) validateLifetime(set map[string]bool) error {
	switch {
	case set["deadline"] && c.Deadline <= 0:
		return fmt.Errorf("--deadline %s: want a time above 0, such as 10m", c.Deadline)
	case c.Reap && c.Lab.Hosts > 0:
		return errors.New("--reap: nothing outlives a virtual lab: it goes without --virtual")
	}
	return nil
}
