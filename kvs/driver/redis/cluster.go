package redis

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"kvlab/kvs/driver"
	"kvlab/kvs/route"
	"kvlab/metrics/input"
)

func checkCluster(o driver.Options, u driver.Use) error {
	return cmp.Or(check(o, u),
		input.Want(u.Router == route.Slots, "-router", u.Router, "%s with -transport %s: Redis Cluster routes so", route.Slots, o.Transport))
}

// slots is a range of slots, with both ends.
type slots struct{ first, last int }

func (s slots) String() string { return fmt.Sprintf("%d-%d", s.first, s.last) }

// checkSlots checks that a master owns the slots that the router gives it.
func checkSlots(c *control, server, servers int) error {
	owned, err := ownSlots(c)
	if err != nil {
		return err
	}
	first, last := route.SlotsOf(server, servers)
	if want := (slots{first, last}); !slices.Equal(owned, []slots{want}) {
		return fmt.Errorf("it owns the slots %s, want %v of master %d of %d: list all masters in the order of their slots, split as redis-cli --cluster create does",
			cmp.Or(strings.Trim(fmt.Sprint(owned), "[]"), "none"), want, server+1, servers)
	}
	return nil
}

// ownSlots returns the slots that a node owns by its own table, in order and joined.
func ownSlots(c *control) (owned []slots, err error) {
	me, err := c.do("CLUSTER", "MYID")
	if err != nil {
		return nil, err
	}
	table, err := c.do("CLUSTER", "SLOTS")
	if err != nil {
		return nil, err
	}
	for _, row := range table.elements {
		// first slot, last slot, master: address, port, id
		if len(row.elements) < 3 || len(row.elements[2].elements) < 3 {
			return nil, errors.New("CLUSTER SLOTS names no nodes: want Redis 4 or later")
		}
		if string(row.elements[2].elements[2].Text) == string(me.Text) {
			owned = append(owned, slots{int(row.elements[0].N), int(row.elements[1].N)})
		}
	}
	slices.SortFunc(owned, func(a, b slots) int { return cmp.Compare(a.first, b.first) })
	joined := owned[:0]
	for _, s := range owned {
		if n := len(joined); n > 0 && joined[n-1].last+1 == s.first {
			joined[n-1].last = s.last
		} else {
			joined = append(joined, s)
		}
	}
	return joined, nil
}
