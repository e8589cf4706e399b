package server

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"runtime"
	"syscall"
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
// by then who has not shaken hands. They come from a process of their own. Calls of
// 1,000 operations are made alone and beside them in turn, a slice of 100 ms each, so
// that whatever else the machine does meets both alike. It reports medians over all
// pairs of slices, with their 95 % intervals: of the calls lost, of the processor
// time that a call takes more, which other processes disturb less, and of what the
// server spends on each connection that comes.
//
//	go test -run '^$' -bench BesideHostile -benchtime 60x ./kvs/server
func BenchmarkBesideHostile(b *testing.B) {
	l, call := besideServer(b)
	enemy := startSiege(b, l.Addr().String())
	var lost, dearer, each []float64
	for i := range b.N {
		var alone, beside slice
		for turn := range 2 {
			if turn == i%2 {
				alone = measure(b, call)
				continue
			}
			enemy.order(b, "come")
			beside = measure(b, call)
			enemy.order(b, "go")
		}
		lost = append(lost, 100*(1-beside.calls()/alone.calls()))
		dearer = append(dearer, 100*(beside.cpu()/alone.cpu()-1))
		came := beside.wall.Seconds() / renewal.Seconds() * crowd
		each = append(each, (beside.cpu()-alone.cpu())*float64(beside.done)/came*1e6)
	}
	report := func(name string, values []float64) {
		b.ReportMetric(stats.Median(values), name)
		if interval, ok := stats.MedianInterval(values, 0.95); ok {
			b.ReportMetric(interval.Low, "low-"+name)
			b.ReportMetric(interval.High, "high-"+name)
		}
	}
	report("lost-%", lost)
	report("cpu-more-%", dearer)
	report("us/hostile", each)
	b.ReportMetric(0, "ns/op") // a pair of slices is as long as it is
}

// The hostile connections that stand, and after how long each is renewed.
const (
	crowd   = 1000
	renewal = 5 * time.Second
)

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

// siegeVariable makes the test binary an enemy of the server at its address: of
// each line that it reads, "come" or "go", it does as it says, and answers it.
const siegeVariable = "KVLAB_TEST_SIEGE"

// enemy is such a process.
type enemy struct {
	orders  io.Writer
	answers *bufio.Scanner
}

func startSiege(b *testing.B, addr string) enemy {
	process := exec.Command(os.Args[0])
	process.Env = append(os.Environ(), siegeVariable+"="+addr)
	process.Stderr = os.Stderr
	orders, err := process.StdinPipe()
	if err != nil {
		b.Fatal(err)
	}
	answers, err := process.StdoutPipe()
	if err != nil {
		b.Fatal(err)
	}
	if err := process.Start(); err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		orders.Close() // and it leaves
		process.Wait()
	})
	return enemy{orders, bufio.NewScanner(answers)}
}

func (e enemy) order(b *testing.B, what string) {
	fmt.Fprintln(e.orders, what)
	if !e.answers.Scan() || e.answers.Text() != what {
		b.Fatalf("%q is answered %q", what, e.answers.Text())
	}
}

// besiegeOnOrder is the enemy's life.
func besiegeOnOrder(addr string, orders io.Reader, answers io.Writer) error {
	var conns []net.Conn
	renew := func(i int) (err error) {
		conns[i].Close()
		if conns[i], err = net.Dial("tcp", addr); err == nil {
			hostile[i%len(hostile)].act(conns[i])
		}
		return err
	}
	lines := make(chan string)
	go func() {
		defer close(lines)
		for in := bufio.NewScanner(orders); in.Scan(); {
			lines <- in.Text()
		}
	}()
	tick := time.NewTicker(renewal / crowd)
	for next := 0; ; {
		select {
		case order, ok := <-lines:
			if !ok {
				return nil
			}
			for _, conn := range conns {
				conn.Close()
			}
			conns = nil
			if order == "come" {
				var err error
				if conns, err = besiege(addr, crowd); err != nil {
					return err
				}
				awaitRefusals(conns)
			}
			fmt.Fprintln(answers, order)
		case <-tick.C:
			if len(conns) > 0 {
				if err := renew(next); err != nil {
					return err
				}
				next = (next + 1) % crowd
			}
		}
	}
}

// awaitRefusals waits for the end of those connections whose coming is over: they
// are no burden of what follows.
func awaitRefusals(conns []net.Conn) {
	for i, conn := range conns {
		if hostile[i%len(hostile)].refused {
			conn.SetReadDeadline(time.Now().Add(time.Minute))
			_, _ = io.Copy(io.Discard, conn)
		}
	}
}

// slice is what was done in some 100 ms, and what it took.
type slice struct {
	done      int
	wall, own time.Duration // own is processor time
}

func (s slice) calls() float64 { return float64(s.done) / s.wall.Seconds() }
func (s slice) cpu() float64   { return s.own.Seconds() / float64(s.done) }

// measure makes calls for a slice. Those of a first half slice do not count: the
// garbage of the connections that came or went before is no part of it, nor are
// the caches that they left.
func measure(b *testing.B, call func() error) slice {
	runtime.GC()
	callFor(b, call, 50*time.Millisecond)
	return callFor(b, call, 100*time.Millisecond)
}

func callFor(b *testing.B, call func() error, length time.Duration) slice {
	start, own := time.Now(), processorTime(b)
	var s slice
	for ; s.wall < length; s.wall = time.Since(start) {
		if err := call(); err != nil {
			b.Fatal(err)
		}
		s.done++
	}
	s.own = processorTime(b) - own
	return s
}

func processorTime(b *testing.B) time.Duration {
	var used syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &used); err != nil {
		b.Fatal(err)
	}
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}
