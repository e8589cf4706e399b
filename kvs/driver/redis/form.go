package redis

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"
	"strings"
	"time"

	"kvlab/kvs/route"
)

// The masters of a new cluster hear of each other within a second or two.
const (
	formWithin = 20 * time.Second
	formPause  = 50 * time.Millisecond
)

// formed makes servers that were just started the masters of one cluster, as redis-cli
// --cluster create does, and waits until all of them know it. Several clients may do this
// at the same time.
func (r *redis) formed(ctx context.Context) (err error) {
	r.forming.Lock()
	defer r.forming.Unlock()
	if r.isFormed {
		return nil
	}
	masters := make([]*control, len(r.options.Hosts))
	defer func() {
		for _, c := range masters {
			if c != nil {
				c.Close()
			}
		}
	}()
	for i, addr := range r.options.Hosts {
		if masters[i], err = r.control(ctx, i, func(*control) error { return nil }); err != nil {
			return err
		}
		if err = join(masters[i], i, r.options.Hosts, masters[0]); err != nil {
			return fmt.Errorf("server %s: %w", addr, err)
		}
	}
	for deadline := time.Now().Add(formWithin); ; {
		waits := ""
		for i, c := range masters {
			info, err := c.do("CLUSTER", "INFO")
			if err != nil {
				return err
			}
			if lines := parseInfo(info.Text); lines["cluster_state"] != "ok" || lines["cluster_size"] != strconv.Itoa(len(masters)) {
				waits = cmp.Or(waits, fmt.Sprintf("server %s has state %s and knows %s of %d masters", r.options.Hosts[i], lines["cluster_state"], lines["cluster_size"], len(masters)))
			}
		}
		switch {
		case waits == "":
			r.isFormed = true
			return nil
		case time.Now().After(deadline):
			return errors.New(waits)
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(formPause):
		}
	}
}

// join gives a master its slots, unless it has some, and introduces it to the first one.
func join(c *control, server int, hosts []string, first *control) error {
	owned, err := ownSlots(c)
	if err != nil {
		return err
	}
	if len(owned) == 0 {
		from, to := route.SlotsOf(server, len(hosts))
		_, err := c.do("CLUSTER", "ADDSLOTSRANGE", strconv.Itoa(from), strconv.Itoa(to))
		if err != nil && !strings.Contains(err.Error(), "already busy") { // another client was first
			return err
		}
	}
	if server == 0 {
		return nil
	}
	at, err := net.ResolveTCPAddr("tcp", hosts[0])
	if err != nil {
		return err
	}
	words := []string{"CLUSTER", "MEET", at.IP.String(), strconv.Itoa(at.Port)}
	if bus, err := first.do("CONFIG", "GET", "cluster-port"); err == nil && len(bus.elements) == 2 && string(bus.elements[1].Text) != "0" {
		words = append(words, string(bus.elements[1].Text))
	}
	_, err = c.do(words...)
	return err
}
