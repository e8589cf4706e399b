package txn

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"kvlab/kvs"
	"kvlab/kvs/engine"
)

// age is a call of some age: its parts write the keys of a string each, or commit.
type age struct {
	age   uint64
	parts []string // "a", "ab": a Prepare; "!": a Commit of the first one
	want  []kvs.Status
}

// begin executes the call in a goroutine, and returns its answers.
func (a age) begin(t *testing.T, table *Table) <-chan []kvs.Status {
	var batch kvs.Batch
	batch.Begin(kvs.Head{Owner: a.age, Age: a.age})
	for i, keys := range a.parts {
		if keys == "!" {
			batch.Part(&kvs.Part{Step: kvs.Commit, Number: 1})
			continue
		}
		batch.Part(&kvs.Part{Step: kvs.Prepare, Number: uint64(i + 1), Ops: len(keys)})
		for _, key := range keys {
			batch.Append(kvs.Put, []byte{byte(key)}, nil)
		}
	}
	answers := make(chan []kvs.Status, 1)
	go func() {
		var reply kvs.Reply
		reply.Reset()
		if _, err := table.Execute(&batch, &reply, 0); err != nil {
			t.Error(err)
		}
		var all []kvs.Status
		results := reply.Results()
		for _, keys := range a.parts {
			answer, err := results.NextAnswer()
			if err != nil {
				t.Error(err)
			}
			all = append(all, answer.Status)
			for range len(keys) {
				if answer.Follows() {
					if _, err := results.Next(); err != nil {
						t.Error(err)
					}
				}
			}
		}
		answers <- all
	}()
	return answers
}

// waiting reports how many attempts wait.
func (t *Table) waiting() (n int) {
	for i := range t.stripes {
		s := &t.stripes[i]
		s.mu.Lock()
		n += len(s.waiters)
		s.mu.Unlock()
	}
	return n
}

// What calls of different ages do to each other: each runs until it waits or ends, and those
// that waited end after the last.
func TestPolicies(t *testing.T) {
	done, died := kvs.Done, kvs.Died
	tests := []struct {
		policy string
		name   string
		calls  []age
	}{
		{"waitdie", "an older one waits", []age{{5, []string{"a"}, []kvs.Status{done}}, {3, []string{"a"}, []kvs.Status{done}}, {5, []string{"!"}, []kvs.Status{done}}}},
		{"waitdie", "a younger one dies", []age{{3, []string{"a"}, []kvs.Status{done}}, {5, []string{"a", "b"}, []kvs.Status{died, done}}}},
		{"waitdie", "parts of a call do not wait for each other", []age{{3, []string{"a", "a"}, []kvs.Status{done, died}}}},
		{"woundwait", "a younger one waits", []age{{3, []string{"a"}, []kvs.Status{done}}, {5, []string{"a"}, []kvs.Status{done}}, {3, []string{"!"}, []kvs.Status{done}}}},
		{"woundwait", "a vote is not wounded", []age{{5, []string{"a"}, []kvs.Status{done}}, {3, []string{"a"}, []kvs.Status{kvs.Conflict}}}},
		{"woundwait", "parts of a call do not wait for each other", []age{{3, []string{"a", "a"}, []kvs.Status{done, died}}}},
		{"woundwait", "one that has its locks is wounded", []age{
			{1, []string{"b"}, []kvs.Status{done}}, {9, []string{"a", "b"}, []kvs.Status{kvs.Wounded, done}}, {5, []string{"a"}, []kvs.Status{done}}, {1, []string{"!"}, []kvs.Status{done}}}},
		{"woundwait", "one that waits for another lock is wounded", []age{
			{1, []string{"b"}, []kvs.Status{done}}, {9, []string{"ab"}, []kvs.Status{kvs.Wounded}}, {5, []string{"a"}, []kvs.Status{done}}, {1, []string{"!"}, []kvs.Status{done}}}},
	}
	for _, test := range tests {
		t.Run(test.policy+": "+test.name, func(t *testing.T) {
			policy, err := FindPolicy(test.policy)
			if err != nil {
				t.Fatal(err)
			}
			table := newTable(engine.NewMutex(), policy, 16)
			table.patience = time.Hour
			if table.word([]byte("a")) > table.word([]byte("b")) {
				t.Fatal("a is locked after b")
			}
			var answers []<-chan []kvs.Status
			for i, call := range test.calls {
				before := table.waiting()
				answers = append(answers, call.begin(t, table))
				for table.waiting() == before && len(answers[i]) == 0 {
					time.Sleep(time.Millisecond) // between two polls
				}
			}
			for i, call := range test.calls {
				select {
				case got := <-answers[i]:
					if !slices.Equal(got, call.want) {
						t.Errorf("call %d: %v, want %v", i, got, call.want)
					}
				case <-time.After(time.Minute):
					t.Fatalf("call %d waits for ever: %+v", i, table.stripes)
				}
			}
		})
	}
}

// An attempt that is fenced while it waits does not vote, whatever its owner does meanwhile, and
// holds no lock.
func TestFencedWhileWaiting(t *testing.T) {
	table := newTable(engine.NewMutex(), policies[1], 16)
	table.patience = time.Hour
	<-age{5, []string{"b"}, nil}.begin(t, table)
	waits := age{3, []string{"ab"}, nil}.begin(t, table)
	for table.waiting() == 0 {
		time.Sleep(time.Millisecond) // between two polls
	}
	for i, step := range []struct {
		owner uint64
		kvs.Part
		want kvs.Status
	}{
		{8, kvs.Part{Step: kvs.Fence, Owner: 3, Number: 1}, kvs.Absent},
		{8, kvs.Part{Step: kvs.SettleCommit, Owner: 3, Number: 1}, kvs.Absent},
		{8, kvs.Part{Step: kvs.SettleAbort, Owner: 3, Number: 1}, kvs.Done},
		{3, kvs.Part{Step: kvs.Commit, Number: 1}, kvs.Fenced}, // with a mark that is wrong
		{5, kvs.Part{Step: kvs.Abort, Number: 1}, kvs.Done},
	} {
		var batch kvs.Batch
		var reply kvs.Reply
		reply.Reset()
		batch.Begin(kvs.Head{Owner: step.owner, Mark: 9})
		batch.Part(&step.Part)
		if _, err := table.Execute(&batch, &reply, 0); err != nil {
			t.Fatal(err)
		}
		results := reply.Results()
		if answer, err := results.NextAnswer(); err != nil || answer.Status != step.want {
			t.Errorf("step %d: %s, %v; want %s", i, answer.Status, err, step.want)
		}
	}
	if got := <-waits; got[0] != kvs.Fenced {
		t.Errorf("it votes %s", got[0])
	}
	for i := range table.stripes {
		if s := &table.stripes[i]; len(s.holders)+len(s.waiters) > 0 {
			t.Errorf("%+v hold and %+v wait", s.holders, s.waiters)
		}
	}
}

// A call waits no longer than its patience, for all its parts together.
func TestPatience(t *testing.T) {
	policy, err := FindPolicy("waitdie")
	if err != nil {
		t.Fatal(err)
	}
	table := newTable(engine.NewMutex(), policy, 16)
	table.patience = 5 * time.Millisecond
	<-age{9, []string{"a", "b", "c"}, nil}.begin(t, table)
	since := time.Now()
	if got := <-(age{3, []string{"a", "b", "c"}, nil}).begin(t, table); fmt.Sprint(got) != "[late late late]" || time.Since(since) < table.patience {
		t.Errorf("%v after %v", got, time.Since(since))
	}
}

func TestFindPolicy(t *testing.T) {
	if _, err := FindPolicy("woundwiat"); err == nil || err.Error() != `-policy "woundwiat": want one of nowait, waitdie, woundwait; did you mean woundwait?` {
		t.Errorf("error %v", err)
	}
}
