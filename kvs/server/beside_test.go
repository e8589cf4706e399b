package server

import (
	"context"
	"fmt"
	"io"
	"net"
	"runtime"
	"sync"
	"testing"
	"time"

	"kvlab/kvs"
	"kvlab/kvs/engine"
	"kvlab/kvs/service"
	"kvlab/kvs/wire"
	"kvlab/metrics/stats"
)

// BenchmarkBesideHostile is what a good client loses beside 1,000 hostile
// connections that stand, each of them renewed after 5 s, as the server throws out
// by then who has not shaken hands. Calls of 1,000 operations are made alone and beside
// them in turn, a slice of 100 ms each, so that whatever else the machine does meets both
// alike. It reports the median, over all pairs of slices, of the calls lost, with its 95 %
// interval.
//
//	go test -run '^$' -bench BesideHostile -benchtime 60x ./kvs/server
func BenchmarkBesideHostile(b *testing.B) {
	l, call := besideServer(b)
	var lost []float64
	for i := range b.N {
		var alone, beside float64
		for turn := range 2 {
			if turn == i%2 {
				alone = callRate(b, call)
				continue
			}
			leave := siege(b, l.Addr().String())
			beside = callRate(b, call)
			leave()
		}
		lost = append(lost, 100*(1-beside/alone))
	}
	b.ReportMetric(stats.Median(lost), "lost-%")
	if interval, ok := stats.MedianInterval(lost, 0.95); ok {
		b.ReportMetric(interval.Low, "low-lost-%")
		b.ReportMetric(interval.High, "high-lost-%")
	}
	b.ReportMetric(0, "ns/op") // a pair of slices is as long as it is
}

// siege opens a crowd of hostile connections, waits for the end of those that are refused at
// once, and renews one after another until leave is called.
func siege(b *testing.B, addr string) (leave func()) {
	const crowd, renewal = 1000, 5 * time.Second
	conns, err := besiege(addr, crowd)
	if err != nil {
		b.Fatal(err)
	}
	for i, conn := range conns {
		if hostile[i%len(hostile)].refused {
			conn.SetReadDeadline(time.Now().Add(time.Minute))
			_, _ = io.Copy(io.Discard, conn)
		}
	}
	over := make(chan struct{})
	var renewing sync.WaitGroup
	renewing.Go(func() {
		tick := time.NewTicker(renewal / crowd)
		defer tick.Stop()
		for next := 0; ; next = (next + 1) % crowd {
			select {
			case <-over:
				return
			case <-tick.C:
			}
			conns[next].Close()
			conn, err := net.Dial("tcp", addr)
			if err != nil {
				b.Error(err)
				return
			}
			hostile[next%len(hostile)].act(conn)
			conns[next] = conn
		}
	})
	return func() {
		close(over)
		renewing.Wait()
		for _, conn := range conns {
			conn.Close()
		}
	}
}

// besideServer returns a server as it is by default, with one client, and what has that
// make a call: 95 % reads, as in YCSB-B.
func besideServer(b *testing.B) (*listener, func() error) {
	socket, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	engine.TuneCollector(8 << 30)
	l := &listener{
		Listener: socket, config: config{Options: wire.Options{Hello: wire.Hello{Node: "node0", Codec: "binary"}}, MaxConnections: 4096}, service: service.New(engine.NewSyncMap()), model: PerConn,
		logf: func(string, ...any) {}, conns: map[net.Conn]bool{},
	}
	go l.run(context.Background())
	b.Cleanup(func() { l.stop() })
	client, err := dial(l)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { client.Close() })
	var batch kvs.Batch
	for i := range 1000 {
		key := fmt.Appendf(nil, "key%d", i%50)
		if i < 50 {
			batch.Append(kvs.Put, key, make([]byte, 128))
		} else {
			batch.Get(key)
		}
	}
	call := kvs.Call{Batch: &batch, Reply: new(kvs.Reply)}
	return l, func() error {
		client.Send(&call)
		defer call.Reply.Free()
		return client.Wait(&call)
	}
}

// callRate returns the calls in a second of a slice of 100 ms. Those of a first half slice do
// not count: the garbage of the connections that came or went before is no part of it, nor
// are the caches that they left.
func callRate(b *testing.B, call func() error) float64 {
	runtime.GC()
	done, start := 0, time.Now()
	for _, length := range []time.Duration{50 * time.Millisecond, 100 * time.Millisecond} {
		for done, start = 0, time.Now(); time.Since(start) < length; done++ {
			if err := call(); err != nil {
				b.Fatal(err)
			}
		}
	}
	return float64(done) / time.Since(start).Seconds()
}
