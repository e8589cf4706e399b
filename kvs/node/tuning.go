package node

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"os"

	"kvlab/kvs/node/tune"
	"kvlab/metrics"
)

// hold applies the recommended settings of the host when the launcher says so, and restores
// them when ctx ends. It logs what it had to leave.
func hold(ctx context.Context, node *Node) error {
	c, err := node.Await(ctx, Tune)
	var held *tune.Held
	var answer Answer
	if err == nil {
		held, answer.Settings, err = apply(c.Question.Data)
	}
	if err == nil {
		err = node.Send(Event{Event: Answered, Answer: &answer})
		<-ctx.Done()
		left, restoreErr := held.Release()
		for _, line := range left {
			node.Logf("%s", line)
		}
		err = errors.Join(err, restoreErr)
	}
	if err == nil {
		return node.Send(Event{Event: Done})
	}
	_ = node.Send(Event{Event: Error, Text: err.Error()}) // the exit status shows the error too
	return err
}

// apply applies the settings of this machine and of the interface with a data address.
func apply(data string) (*tune.Held, []metrics.HostSetting, error) {
	if os.Geteuid() != 0 {
		return nil, nil, errors.New("only root may: log in as root, or leave out --tune apply")
	}
	address, err := netip.ParseAddr(data)
	if err != nil {
		return nil, nil, fmt.Errorf("data address: %w", err)
	}
	link, err := thisMachine.linkOf(address)
	if err != nil {
		return nil, nil, err
	}
	return tune.New("/", link.Name).Apply()
}
