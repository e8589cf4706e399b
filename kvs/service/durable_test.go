package service_test

import (
	"errors"
	"fmt"
	"testing"

	"kvlab/kvs"
	"kvlab/kvs/engine"
	"kvlab/kvs/service"
)

// log is a durable engine that notes how it is called.
type log struct {
	kvs.Engine
	calls []string
	fault error // of Commit
}

func (l *log) Apply(ops []kvs.Op, reply *kvs.Reply) {
	l.calls = append(l.calls, fmt.Sprint("apply ", len(ops)))
	l.Engine.Apply(ops, reply)
}

func (l *log) Commit() error {
	l.calls = append(l.calls, "commit")
	return l.fault
}

// A durable engine gets all operations of a call at once, and then one commit, also when the
// call only reads. Everything is counted.
func TestCommit(t *testing.T) {
	l := &log{Engine: engine.NewMutex()}
	s := service.New(l)
	conn := s.Open("peer")
	var batch kvs.Batch
	var reply kvs.Reply
	for _, n := range []int{0, 1, 1000} {
		batch.Reset()
		for i := range n {
			batch.Get(fmt.Append(nil, i))
		}
		l.calls = nil
		if err := conn.BatchPutGet(&batch, &reply); err != nil {
			t.Fatal(err)
		}
		if want := fmt.Sprintf("[apply %d commit]", n); fmt.Sprint(l.calls) != want || reply.Len() != n {
			t.Errorf("the engine saw %v, and %d results; want %s", l.calls, reply.Len(), want)
		}
	}
	l.calls = nil
	if err := conn.Apply(make([]kvs.Op, 0, 1), &reply); err != nil || fmt.Sprint(l.calls) != "[apply 0 commit]" {
		t.Errorf("decoded operations: %v, %v", l.calls, err)
	}
	if c := s.Counts()["peer"]; c.Gets != 1001 || c.Misses != 1001 || c.Calls != 4 {
		t.Errorf("counts %+v", c)
	}
}

// A call whose commit fails has no answer, and a session does not cache one; it was applied.
func TestCommitFails(t *testing.T) {
	l := &log{Engine: engine.NewMutex(), fault: errors.New("no space")}
	s := service.New(l)
	session := resume(t, s, aSession(1))
	var reply kvs.Reply
	for range 2 {
		if err := session.Answer(0, swap(1), &reply); !errors.Is(err, service.ErrNotDurable) || !errors.Is(err, l.fault) {
			t.Errorf("error %v", err)
		}
	}
	if _, calls := s.Retries(); calls != 0 {
		t.Errorf("%d calls were answered from the cache", calls)
	}
	if c := s.Counts()["client"]; c.ReadModifyWrites != 2 {
		t.Errorf("counts %+v", c)
	}
}
