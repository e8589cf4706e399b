package wire

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"kvlab/kvs"
	"kvlab/kvs/engine"
	"kvlab/kvs/service"
)

// transactions returns a batch with a transaction of one server, a vote, and one that the vote
// refuses; and one that commits the vote.
func transactions() (votes, decision *kvs.Batch) {
	votes, decision = new(kvs.Batch), new(kvs.Batch)
	votes.Begin(kvs.Head{Owner: 3, Mark: 1})
	votes.Part(&kvs.Part{Step: kvs.Run, Number: 1, Ops: 2})
	votes.Append(kvs.Put, []byte("a"), []byte("first"))
	votes.Get([]byte("a"))
	votes.Part(&kvs.Part{Step: kvs.Prepare, Number: 2, Parties: []uint16{0, 1}, Ops: 2})
	votes.Append(kvs.ReadModifyWrite, []byte("a"), []byte("second"))
	votes.Get([]byte("b"))
	votes.Part(&kvs.Part{Step: kvs.Run, Number: 3, Ops: 1})
	votes.Get([]byte("a"))
	decision.Begin(kvs.Head{Owner: 3, Mark: 1})
	decision.Part(&kvs.Part{Step: kvs.Commit, Number: 2})
	return votes, decision
}

// Over each kind of connection transactions get the answers that they get without a network,
// and what they commit is counted; plain batches go on beside them.
func TestTransactionsAgreeWithoutNetwork(t *testing.T) {
	kinds := map[string]Options{"clear": binaryOptions, "checked": binaryOptions, "encrypted": encryptedOptions(t), "session": sessionOptions(0, 4)}
	for name, options := range kinds {
		t.Run(name, func(t *testing.T) {
			options.Transactions = true
			options.CRC = name == "checked"
			far := startServer(t, options, engine.NewMutex())
			client := far.dial(t, options)
			near := service.New(engine.NewMutex()).Open("near")
			near.Transactions = true
			votes, decision := transactions()
			var plain kvs.Batch
			plain.Get([]byte("a"))
			for i, batch := range []*kvs.Batch{&plain, votes, &plain, decision, &plain} {
				reply, err := call(client, batch)
				if err != nil {
					t.Fatalf("batch %d: %v", i, err)
				}
				var want kvs.Reply
				if err := near.BatchPutGet(batch, &want); err != nil {
					t.Fatal(err)
				}
				if got, want := fmt.Sprint(words(t, reply)), fmt.Sprint(words(t, &want)); got != want {
					t.Errorf("batch %d: %s, want %s", i, got, want)
				}
				reply.Free()
			}
			got := far.service.Counts()["node0"]
			if got.Gets != 5 || got.Puts != 1 || got.ReadModifyWrites != 1 || got.Calls != 5 { // the refused Get does not count
				t.Errorf("counts %+v", got)
			}
		})
	}
}

// A call of transactions that are malformed fails alone.
func TestMalformedTransactions(t *testing.T) {
	options := binaryOptions
	options.Transactions = true
	client := startServer(t, options, engine.NewMutex()).dial(t, options)
	votes, decision := transactions()
	bad := new(kvs.Batch)
	copy(bad.Body(votes.Size()-1, votes.Len()), votes.Frame()[headerLen:])
	bad.SetTransactional(true)
	if _, err := call(client, bad); err == nil || !strings.Contains(err.Error(), "execute a batch of transactions of 8 entries: malformed batch") {
		t.Errorf("error %v", err)
	}
	if _, err := call(client, decision); err != nil {
		t.Errorf("the call after it: %v", err)
	}
}

// A connection without -txn carries no transactions, and a server that has none says so.
func TestTransactionsAreAgreed(t *testing.T) {
	votes, _ := transactions()
	s := startServer(t, binaryOptions, engine.NewMutex())
	if _, err := call(s.dial(t, binaryOptions), votes); !errors.Is(err, io.ErrUnexpectedEOF) && !errors.Is(err, io.EOF) {
		t.Errorf("without -txn: %v", err)
	}
	if err := s.end(t); err == nil || !strings.Contains(err.Error(), "type 4 where [1] is due") {
		t.Errorf("the server says %v", err)
	}
	for name, test := range map[string]struct {
		change func(server, me *Options)
		want   string
	}{
		"with -dedup": {func(_, me *Options) { me.Dedup = true }, "a client with -txn has neither -dedup nor -cache"},
		"gob":         {func(server, me *Options) { server.Codec, me.Codec = "gob", "gob" }, "-txn: -codec gob does not support it; want -codec binary"},
		"on disk": {func(server, _ *Options) {
			server.Untransactional = engine.Row{Name: "log", Syncs: []engine.Sync{engine.SyncOS}}.CheckTransactions()
		},
			"the server (node0): -txn: -engine log is on disk, and the votes and decisions of transactions are not"},
		"no store": {func(server, _ *Options) {
			server.Untransactional = engine.Row{Name: "null", NoStore: true}.CheckTransactions()
		}, "-engine null has no store"},
	} {
		server, me := binaryOptions, binaryOptions
		me.Transactions = true
		test.change(&server, &me)
		_, _, err := Dial(context.Background(), startServer(t, server, engine.NewMutex()).addr, me)
		if !errors.Is(err, ErrRefused) || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %v, want %q", name, err, test.want)
		}
	}
}
