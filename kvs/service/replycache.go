package service

import (
	"fmt"

	"kvlab/kvs"
)

// memory is a lane's last answers. It has one owner at a time: the session of the
// lane's connection.
type memory struct {
	holder     *hold  // nil without a connection; guarded by Service.mu, as are the next two
	last       *hold  // the one before
	connection uint64 // the latest that has come

	window  int
	first   uint64 // the first call
	next    uint64 // the call to be applied next; those from first on have been
	answers []kept // of the last window calls, by number - first; grows up to window
}

// kept is the answer to one call.
type kept struct {
	reply kvs.Reply
	err   error
}

// Answer is BatchPutGet for a session of a lane, whose call has the given number:
// one that has been applied before is not applied again but answered as it was
// then, and the batch is not looked at. Without a lane it is BatchPutGet, whatever
// the number. It is for one goroutine.
//
// The reply's memory belongs to the lane until the reply is Freed or Reset. An
// error that is ErrSuperseded is no answer, but the end of the connection.
func (s *Conn) Answer(number uint64, batch *kvs.Batch, reply *kvs.Reply) error {
	if s.hold == nil {
		return s.BatchPutGet(batch, reply)
	}
	m := s.hold.memory
	switch {
	case s.Expelled():
		return ErrSuperseded
	case number > m.next:
		return fmt.Errorf("call %d of a lane where call %d is due: those between are missing", number, m.next)
	case number < m.first || m.next-number > uint64(m.window):
		return fmt.Errorf("call %d of a lane came again: the last %d answers before call %d are remembered", number, m.window, m.next)
	case number < m.next:
		s.service.remembered.Add(1)
		k := m.answer(number)
		reply.Borrow(&k.reply)
		return k.err
	}
	k := m.answer(number)
	k.reply.Free() // now, so that this call's is written where that one's was
	k.err = s.BatchPutGet(batch, reply)
	k.reply = *reply
	reply.Borrowed = true
	m.next++
	return k.err
}

// Refuse notes that a call has come that is not applied, and says whether its
// client is to be told why. A call of a lane that came broken, so that for good is
// false, is not: it comes again, whole.
func (s *Conn) Refuse(number uint64, why error, forGood bool) (tell bool) {
	if s.hold == nil {
		return true
	}
	if m := s.hold.memory; forGood && number == m.next {
		k := m.answer(number)
		k.reply.Free()
		k.err = why
		m.next++
	}
	return forGood
}

// answer is the place of a call's answer.
func (m *memory) answer(number uint64) *kept {
	i := int((number - m.first) % uint64(m.window))
	if i == len(m.answers) {
		m.answers = append(m.answers, kept{})
	}
	return &m.answers[i]
}

// forget gives the answers' memory away.
func (m *memory) forget() {
	for i := range m.answers {
		m.answers[i].reply.Free()
	}
	m.answers = nil
}
