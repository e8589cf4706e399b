package lab

import (
	"fmt"
	"math/rand/v2"
	"time"

	"kvlab/kvs"
	"kvlab/kvs/driver"
	"kvlab/kvs/txn"
)

// single are messages of one operation.
var single [2]message

// longestPause is the longest pause of a connection before it tries refused operations again. The
// first is at most 2^-6 of it: 78 µs, as long as a call takes on a fast network.
const longestPause = 5 * time.Millisecond

// transact executes the operations of a call as a transaction each, which it tries again until
// it is committed. Operations on one key follow each other.
func (c *conn) transact(call *kvs.Call) error {
	waves, err := c.order.plan(call.Batch, &single[0], &single[1])
	if err != nil {
		return err
	}
	if n := call.Batch.Len(); len(c.values) < n {
		c.values, c.round.Places = make([]string, n), make([]uint16, n)
	}
	call.Sent, call.Received = 0, 0
	c.round.Ops = c.order.ops
	for wave := int32(0); wave < waves; wave++ {
		c.round.Attempts = c.round.Attempts[:0]
		for i := range c.order.ops {
			if c.order.wave[i] == wave {
				c.round.Attempts = append(c.round.Attempts, driver.Attempt{First: i, End: i + 1})
			}
		}
		if err := c.commit(call); err != nil {
			return err
		}
	}
	call.Reply.Reset()
	for i, op := range c.order.ops {
		call.Reply.Answer(op.Kind, bytesOf(c.values[i]), c.values[i] != "")
	}
	return nil
}

// commit executes the round's attempts until all are committed.
func (c *conn) commit(call *kvs.Call) error {
	began := time.Now()
	for pause := longestPause >> 6; len(c.round.Attempts) > 0; pause = min(2*pause, longestPause) {
		c.round.Age = uint64(began.UnixNano())
		if err := c.transactor.Transact(&c.round); err != nil {
			return err
		}
		call.Sent += int(c.round.Costs[0].Sent)
		call.Received += int(c.round.Costs[0].Received)
		refused := c.round.Attempts[:0]
		for _, a := range c.round.Attempts {
			switch a.Outcome {
			case txn.IsCommitted:
				c.values[a.First] = alias(c.round.Results[a.First].Value)
			case txn.IsAborted:
				refused = append(refused, a)
			default:
				return fmt.Errorf("the store does not say whether it committed a %s (%s)", c.order.ops[a.First].Kind, driver.Unknown)
			}
		}
		if c.round.Attempts = refused; len(refused) == 0 {
			break
		}
		if time.Since(began) > c.timeout {
			return fmt.Errorf("the store refuses a %s of key %s again and again for %v: does a lock stay?", c.order.ops[refused[0].First].Kind, c.order.ops[refused[0].First].Key, c.timeout)
		}
		time.Sleep(rand.N(pause))
	}
	return nil
}
