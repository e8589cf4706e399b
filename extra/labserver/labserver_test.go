package labserver_test

import (
	"cmp"
	"fmt"
	"net"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"kvlab/extra/labserver"
	"kvlab/internal/labtest"
	"kvlab/kvs/driver/lab"
	"kvlab/kvs/engine"
	"kvlab/kvs/service"
	"kvlab/kvs/verdict/witness"
	"kvlab/metrics"
	"kvlab/workload"
)

// running is a server on loopback.
type running struct {
	server *labserver.Server
	l      net.Listener
	conns  sync.WaitGroup
}

// start starts a server of a preset.
func start(t testing.TB, preset string, preload int) *running {
	t.Helper()
	form, err := lab.NewForm(map[string]string{"preset": preset})
	if err != nil {
		t.Fatal(err)
	}
	r := &running{server: labserver.New(service.New(engine.NewSyncMap()), form, preload, preset)}
	if r.l, err = net.Listen("tcp", "127.0.0.1:0"); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.l.Close() })
	go func() {
		for {
			socket, err := r.l.Accept()
			if err != nil {
				return
			}
			r.conns.Go(func() {
				if err := r.server.Serve(socket); err != nil {
					t.Error(err)
				}
			})
		}
	}()
	return r
}

// witness returns what the server saw, when its clients have left.
func (r *running) witness() *metrics.Witness {
	r.conns.Wait()
	var s metrics.Summary
	r.server.Summarize(&s)
	return s.Witness
}

// trial runs a client against servers of its form, and judges it.
func trial(t *testing.T, servers int, c labtest.Client) (found []metrics.CheckResult, claim string) {
	t.Helper()
	c.Secs, c.Records, c.Workers, c.Batch = cmp.Or(c.Secs, 0.15), 100_000, cmp.Or(c.Workers, 4), cmp.Or(c.Batch, 64)
	if c.Reads == 0 {
		c.Reads = 0.95
	}
	all := make([]*running, servers)
	for i := range all {
		all[i] = start(t, c.Form, 0)
		c.Hosts = append(c.Hosts, all[i].l.Addr().String())
	}
	said, err := c.Run()
	if err != nil {
		t.Fatal(err)
	}
	asked := witness.Asked{Workload: workload.DefaultConfig(), Secs: c.Secs, Clients: 1, Workers: c.Workers, Batch: c.Batch}
	asked.Workload.Records = uint64(c.Records)
	if c.Reads == 0.5 {
		asked.Workload.Workload = workload.YCSBA
	}
	if c.Form == "base" {
		asked.Batch = 1
	}
	if c.Fault == labtest.NeverFull {
		asked.Batch = 1024
	}
	var saw []witness.Server
	for i, r := range all {
		saw = append(saw, witness.Server{Node: fmt.Sprintf("node%d", i), Witness: r.witness()})
	}
	claims := []metrics.Claimed{{OpsPerS: said.OpsPerS, Lines: 1, RanS: said.RanS}}
	return witness.Judge(claims, saw, asked), witness.Claim(claims, saw)
}

// accused returns the findings against a client.
func accused(found []metrics.CheckResult) (texts, ids []string) {
	for _, f := range found {
		if f.Outcome == metrics.CheckFailed || f.Outcome == metrics.CheckDoubted {
			texts, ids = append(texts, f.ID+": "+f.Evidence), append(ids, f.ID)
		}
	}
	return texts, ids
}

// seeds is how many seeds the tests have.
func seeds(short, long int) uint64 {
	if os.Getenv("KVLAB_LONG") == "1" {
		return uint64(long)
	}
	return uint64(short)
}

// busy keeps the processors busy until the test ends.
func busy(t *testing.T) {
	for range 2 {
		go func() {
			for t.Context().Err() == nil {
			}
		}()
	}
}

// Honest clients are not accused, whatever their structure.
func TestHonestClients(t *testing.T) {
	for _, c := range []struct {
		name    string
		servers int
		busy    bool
		client  labtest.Client
	}{
		{"one operation a call", 1, false, labtest.Client{Form: "base"}},
		{"batches", 2, false, labtest.Client{Form: "clawcodes"}},
		{"batches, busy", 2, true, labtest.Client{Form: "kangyang"}},
		{"shared connections", 2, false, labtest.Client{Form: "sacatrash", Shared: true, Workers: 8}},
		{"a PUT ends a batch", 2, false, labtest.Client{Form: "gianghta", Flush: true, Batch: 8}},
		{"a PUT ends a batch, busy", 1, true, labtest.Client{Form: "dashree-gets", Flush: true, Batch: 8}},
		{"awaits all replies", 2, false, labtest.Client{Form: "citywatch", Async: true, Tail: true}},
		{"GETs and PUTs apart", 2, false, labtest.Client{Form: "haoren", Tail: true}},
		{"a long way to get ready", 1, true, labtest.Client{Form: "venkateshdb", Ready: 150 * time.Millisecond}},
		{"half PUTs, without a warm-up", 2, false, labtest.Client{Form: "dashree", Reads: 0.5, Skip: 60 * time.Millisecond}},
	} {
		t.Run(c.name, func(t *testing.T) {
			if c.busy {
				busy(t)
			}
			for seed := range seeds(1, 20) {
				c.client.Seed = seed + 1
				found, claim := trial(t, c.servers, c.client)
				if texts, _ := accused(found); len(texts) > 0 {
					t.Errorf("seed %d: %s\n%s", c.client.Seed, claim, strings.Join(texts, "\n"))
				}
			}
		})
	}
}

// Every fault is named by its own check. The short form has five tries, each twice as long: in a
// seventh of a second, a machine that does other work may do too little of the client's, or all of it
// in a moment.
func TestFaultyClients(t *testing.T) {
	for _, c := range []struct {
		servers int
		client  labtest.Client
		want    string
	}{
		{1, labtest.Client{Form: "kangyang", Fault: labtest.CountsEarly}, "client-counted"},
		{2, labtest.Client{Form: "citywatch", Fault: labtest.FireForget}, "client-unanswered"},
		{1, labtest.Client{Form: "base", Fault: labtest.FireForget}, "client-unanswered"},
		{2, labtest.Client{Form: "kangyang", Fault: labtest.CountsOne, Workers: 12, Secs: 0.5}, "client-uncounted"},
		{1, labtest.Client{Form: "clawcodes", Fault: labtest.Drops}, "client-dropped"},
		{2, labtest.Client{Form: "clawcodes", Fault: labtest.DropsUnseen}, "client-dropped"},
		{1, labtest.Client{Form: "haoren", Fault: labtest.GetsAsPuts}, "client-puts"},
		{2, labtest.Client{Form: "citywatch", Fault: labtest.OneServer}, "client-servers"},
		{2, labtest.Client{Form: "dashree", Fault: labtest.RandomRoute}, "client-routing"},
		{2, labtest.Client{Form: "kangyang", Fault: labtest.NeverFull}, "client-full"},
		{2, labtest.Client{Form: "dashree", Fault: labtest.DeadBatch}, "client-batch"},
		{1, labtest.Client{Form: "citywatch", Fault: labtest.Overtakes}, "client-order"},
		{1, labtest.Client{Form: "kangyang", Fault: labtest.OtherTheta}, "client-law"},
		{2, labtest.Client{Form: "base", Fault: labtest.OutOfRange}, "client-range"},
		{2, labtest.Client{Form: "kangyang", Fault: labtest.SendsTwice}, "client-twice"},
		{2, labtest.Client{Form: "clawcodes", Fault: labtest.EqualStreams}, "client-twice"},
	} {
		t.Run(fmt.Sprintf("%s of %s", c.client.Fault, c.client.Form), func(t *testing.T) {
			if c.client.Fault == labtest.DropsUnseen && seeds(0, 1) == 0 {
				t.Skip("a busy machine may leave room in its queue: KVLAB_LONG=1 runs it")
			}
			for seed := range seeds(1, 10) {
				c.client.Seed = seed + 1
				var all []string
				client := c.client
				for range seeds(5, 1) {
					found, claim := trial(t, c.servers, client)
					client.Secs = 2 * cmp.Or(client.Secs, 0.15)
					texts, ids := accused(found)
					if all = append(all, claim+"\n"+strings.Join(texts, "\n")); slices.Contains(ids, c.want) {
						all = nil
						break
					}
				}
				if len(all) > 0 {
					t.Errorf("seed %d: want %s:\n%s", c.client.Seed, c.want, strings.Join(all, "\n"))
				}
			}
		})
	}
}
