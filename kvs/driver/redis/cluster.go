package redis

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"

	"kvlab/internal/cli"
	"kvlab/kvs/driver"
	"kvlab/kvs/route"
)

func checkCluster(o driver.Options, u driver.Use) error {
	return cmp.Or(check(o, u),
		cli.Want(u.Router == route.Slots || strings.HasPrefix(u.Router, route.Slots+":"), "-router", u.Router, "%s with -transport %s: Redis Cluster routes so", route.Slots, o.Transport))
}

// findCluster is Find of ClusterRow. It asks the first node that answers for all masters, and
// returns them in the order of their slots, with the router of these slots. If no node answers,
// it returns the hosts: perhaps the clients reach them.
func findCluster(ctx context.Context, o driver.Options) (hosts []string, router string, err error) {
	r := &redis{options: o}
	for server, seed := range o.Hosts {
		var masters []master
		var c *control
		if c, err = r.control(ctx, server, func(c *control) (err error) {
			masters, err = mastersOf(c, seed)
			return err
		}); err != nil {
			var unreachable net.Error
			if errors.As(err, &unreachable) {
				continue
			}
			return nil, "", err
		}
		c.Close()
		var table route.SlotTable
		for _, m := range masters {
			hosts, table = append(hosts, m.addr), append(table, m.slots)
		}
		return hosts, table.String(), nil
	}
	return o.Hosts, "", nil
}

// master is a node of a cluster that owns slots.
type master struct {
	addr, id string
	slots    [][2]int // ranges with both ends, in order, joined
}

// mastersOf returns the masters that a node knows, in the order of their first slots. A master
// without a known address gets the node's.
func mastersOf(c *control, from string) (masters []master, err error) {
	rows, err := c.do("CLUSTER", "SLOTS")
	if err != nil {
		if strings.Contains(err.Error(), "cluster support disabled") {
			err = fmt.Errorf("it is a Redis of its own, and no node of a Redis Cluster: want redis://%s", from)
		}
		return nil, err
	}
	slices.SortFunc(rows.elements, func(a, b node) int { return cmp.Compare(a.firstSlot(), b.firstSlot()) })
	for _, row := range rows.elements {
		// first slot, last slot, master: address, port, id
		if len(row.elements) < 3 || len(row.elements[2].elements) < 3 {
			return nil, errors.New("CLUSTER SLOTS names no nodes: want Redis 4 or later")
		}
		who, owned := row.elements[2].elements, [2]int{int(row.elements[0].N), int(row.elements[1].N)}
		host, id := string(who[0].Text), string(who[2].Text)
		if host == "" || host == "?" {
			host, _, _ = net.SplitHostPort(from)
		}
		i := slices.IndexFunc(masters, func(m master) bool { return m.id == id })
		if i < 0 {
			i = len(masters)
			masters = append(masters, master{addr: net.JoinHostPort(host, strconv.FormatInt(who[1].N, 10)), id: id})
		}
		if s := masters[i].slots; len(s) > 0 && s[len(s)-1][1]+1 == owned[0] {
			s[len(s)-1][1] = owned[1]
		} else {
			masters[i].slots = append(s, owned)
		}
	}
	return masters, nil
}

// firstSlot returns the first slot of a row of CLUSTER SLOTS.
func (n node) firstSlot() int64 {
	if len(n.elements) == 0 {
		return 0
	}
	return n.elements[0].N
}

// checkSlots checks that a master owns the slots that the router gives it.
func (r *redis) checkSlots(c *control, server int) error {
	owned, err := ownSlots(c)
	if err != nil {
		return err
	}
	table, err := route.ParseSlots(r.router, len(r.options.Hosts))
	if err == nil && !slices.Equal(owned, table[server]) {
		err = fmt.Errorf("it owns the slots %s, want %s of master %d of %d: run-cluster.sh finds the masters and their slots from one address, -hosts wants all in the order of their slots",
			cmp.Or(route.RangesText(owned), "none"), route.RangesText(table[server]), server+1, len(table))
	}
	return err
}

// ownSlots returns the slots that a node owns by its own table.
func ownSlots(c *control) ([][2]int, error) {
	me, err := c.do("CLUSTER", "MYID")
	if err != nil {
		return nil, err
	}
	masters, err := mastersOf(c, "")
	for _, m := range masters {
		if m.id == string(me.Text) {
			return m.slots, err
		}
	}
	return nil, err
}
