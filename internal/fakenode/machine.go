package fakenode

import (
	"encoding/json"
	"io"
	"os"
	"time"

	"kvlab/kvs/node"
	"kvlab/metrics"
)

// StepVariable names a file: from when it is there the fake nodes' wall clocks are
// an hour ahead of what they were.
const StepVariable = "KVLAB_TEST_STEP"

// Step is how far they are set.
const Step = time.Hour

// machine is the output of a node on a machine without other runs, whatever other tests
// do, and on which somebody may set the wall clock. It reads the node's clocks, and no
// operations, which are right until the node's window ends: that is told to last for minutes.
type machine struct {
	io.Writer
	written chan struct{} // gets one for each answer
}

func (m machine) Write(line []byte) (int, error) {
	var e node.Event
	if json.Unmarshal(line, &e) != nil || e.Answer == nil {
		return m.Writer.Write(line)
	}
	if e.Answer.Facts != nil {
		e.Answer.Facts.Processes = nil
	}
	if e.Answer.ReceivedNS != 0 {
		now := time.Now()
		e.Answer.Reading = &metrics.Reading{Node: now, WindowNs: now.UnixNano()}
	}
	if _, err := os.Stat(os.Getenv(StepVariable)); err == nil && e.Answer.ReceivedNS != 0 {
		e.Answer.ReceivedNS += int64(Step)
		e.Answer.SentNS += int64(Step)
	}
	answer, err := json.Marshal(e)
	if err != nil {
		return 0, err
	}
	_, err = m.Writer.Write(append(answer, '\n'))
	m.written <- struct{}{}
	return len(line), err
}
