package models

import (
	"os"
	"strings"
	"sync"
	"testing"

	"kvlab/kvs"
	"kvlab/kvs/server"
	"kvlab/kvs/server/modeltest"
)

func TestMain(m *testing.M) {
	server.LinkModels(Rows)
	if os.Getenv(idleVariable) != "" {
		os.Exit(serveIdle(os.Args[1:]))
	}
	os.Exit(m.Run())
}

func TestModels(t *testing.T) {
	modeltest.Run(t, "bounded:2", 2)
	modeltest.Run(t, "pool:auto", 0)
	modeltest.Run(t, "hybrid", 0)
	modeltest.Run(t, "hybrid:2,1", 2)
	modeltest.Run(t, "parked", 0)
}

// A wrong argument is refused with the model's form.
func TestForms(t *testing.T) {
	for text, want := range map[string]string{
		"bounded:4,8": "-model bounded:4,8: want bounded:N, N from 1 to 65536",
		"bounded:all": "-model bounded:all: want bounded:N, N from 1 to 65536",
		"hybrid:auto": "-model hybrid:auto: want hybrid, or hybrid:N or hybrid:N,QUEUE, each from 1 to 65536",
		"pool:auto:":  "-model pool:auto:: want pool:N or pool:N,QUEUE, each from 1 to 65536, or pool:auto",
		"parked:":     "-model parked:: want parked",
		"park":        `-model "park": want one of conn, pool, bounded, pool:auto, hybrid, parked; did you mean parked?`,
	} {
		if m, err := server.OpenModel(text); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%s: %v, %v; want %q", text, m, err, want)
		}
	}
}

// Batches that only read do not wait for those that write.
func TestHybridReadsInline(t *testing.T) {
	g := modeltest.NewGate()
	s := modeltest.Start(t, "hybrid:1,1", g, modeltest.Options())
	var callers sync.WaitGroup
	for i := range 10 {
		c := modeltest.Dial(t, s.Addr().String(), modeltest.Options())
		callers.Go(func() {
			var batch kvs.Batch
			for range 100 {
				batch.Get([]byte("key"))
			}
			if i%2 == 0 {
				batch.Delete([]byte("key"))
			}
			call := kvs.Call{Batch: &batch, Reply: new(kvs.Reply)}
			c.Send(&call)
			if err := c.Wait(&call); err != nil {
				t.Error(err)
			}
		})
	}
	modeltest.Eventually(t, "five batches of reads and one that writes", func() bool { return g.Inside.Load() == 6 })
	g.Open()
	callers.Wait()
	if g.Applied.Load() != 1005 {
		t.Errorf("%d operations were applied, want 1005", g.Applied.Load())
	}
}
