package trial

import (
	"time"

	"kvlab/kvs/node"
	"kvlab/metrics"
)

// question is a node.Clock command that is not answered yet.
type question struct {
	at  time.Time
	cpu *int64 // processor time of the node's process; nil where it is not known
}

const (
	mostQuestions = 8  // of a node that does not answer
	mostReadings  = 96 // of a node; the last one is then replaced
	earlyReadings = 16 // of these, from before the warm-up: a load may take hours
)

// aroundEdge are the times of the readings around each end of the window: two close ones,
// and two beyond the time in which a node reads its counts.
var aroundEdge = []time.Duration{-150 * time.Millisecond, -10 * time.Millisecond, 10 * time.Millisecond, 150 * time.Millisecond}

// readAround makes the launcher ask for readings around the ends of the window.
func (c *Controller) readAround(edges ...time.Time) {
	for _, edge := range edges {
		for _, after := range aroundEdge {
			time.AfterFunc(time.Until(edge.Add(after)), func() { c.inbox <- message{read: true} })
		}
	}
}

// readEvery returns the time between two readings: 32 cover the work, at most a minute apart.
func (c *Controller) readEvery() time.Duration {
	return min(max(tickEvery, c.typedLength()%unlimited/32, c.opening.length/32), time.Minute)
}

// ask asks every running node for a reading.
func (c *Controller) ask() {
	c.read = time.Now()
	for _, m := range c.processes {
		if m.stage < ready || m.stage >= done || len(m.questions) == mostQuestions {
			continue
		}
		q := question{at: time.Now()}
		if cpu, here := node.ProcessorTime(m.sampled); here {
			q.cpu = new(int64(cpu))
		}
		m.questions = append(m.questions, q)
		m.send(node.Command{Do: node.Clock})
	}
}

// answer keeps the reading in a node's answer, which arrived at a time. It reports false if
// nothing was asked, or the answer has none.
func (c *Controller) answer(m *process, answer *node.Answer, at time.Time) bool {
	if len(m.questions) == 0 || answer == nil || answer.Reading == nil {
		return false
	}
	q, r := m.questions[0], answer.Reading
	m.questions, m.owed = m.questions[1:], max(0, m.owed-1)
	m.sampled = r.Process
	r.Asked, r.Answered, r.CPUNs = c.runTime(q.at), c.runTime(at), q.cpu
	most := mostReadings
	if order[c.phase] < order[metrics.WarmUp] {
		most = earlyReadings
	}
	m.arrive(r.Answered, metrics.Arrival{Event: metrics.Read, From: min(len(m.Readings), most-1), Reading: r})
	return true
}
