package labtest

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"net/rpc"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// SystemWord names the program of a test that runs System.
const SystemWord = "lab-system"

// System is a team's server or client in the course's base form, and returns its error. Its
// arguments are "server", a port, and the time that an operation takes; or "client", the servers,
// the seconds, and how it claims.
func System(args []string) error {
	switch {
	case len(args) == 3 && args[0] == "server":
		return lines(args[1], args[2])
	case len(args) == 4 && args[0] == "client":
		return clients[args[3]](strings.Split(args[1], ","), args[2])
	}
	return fmt.Errorf("arguments %q: want server PORT TIME, or client HOSTS SECS CLAIM", args)
}

// counted counts the operations of a base server, which executes one at a time.
type counted struct {
	*base
	takes time.Duration
	mu    sync.Mutex // held by the operation that is executed
	ops   atomic.Uint64
}

func (c *counted) do() {
	c.mu.Lock()
	defer c.mu.Unlock()
	time.Sleep(c.takes)
	c.ops.Add(1)
}

func (c *counted) Get(args *GetArgs, reply *GetReply) error {
	c.do()
	return c.base.Get(args, reply)
}

func (c *counted) Put(args *PutArgs, reply *PutReply) error {
	c.do()
	return c.base.Put(args, reply)
}

// lines serves, and prints the course's lines each second.
func lines(port, takes string) error {
	d, err := time.ParseDuration(takes)
	if err != nil {
		return err
	}
	l, err := net.Listen("tcp", net.JoinHostPort("127.0.0.1", port))
	if err != nil {
		return err
	}
	c := &counted{base: &base{NewStore(None, 1)}, takes: d}
	server := rpc.NewServer()
	if err := server.RegisterName("KVService", c); err != nil {
		return err
	}
	go func() {
		last, at := uint64(0), time.Now()
		for range time.Tick(time.Second) {
			ops, now := c.ops.Load(), time.Now()
			rate := float64(ops-last) / now.Sub(at).Seconds()
			fmt.Printf("get/s %0.2f\nput/s %0.2f\nops/s %0.2f\n\n", rate, 0.0, rate)
			last, at = ops, now
		}
	}()
	server.HandleHTTP(rpc.DefaultRPCPath, rpc.DefaultDebugPath)
	return http.Serve(l, nil)
}

// clients are the ways to claim.
var clients = map[string]func(hosts []string, secs string) error{
	"course": func(hosts []string, secs string) error { return course(hosts, secs, "") },
	"early":  func(hosts []string, secs string) error { return course(hosts, secs, CountsEarly) },
	"right":  func(hosts []string, secs string) error { return waits(hosts, secs, 1) },
	"triple": func(hosts []string, secs string) error { return waits(hosts, secs, 3) },
	"never":  neverWaits,
	"hangs":  func([]string, string) error { time.Sleep(time.Hour); return nil },
	"silent": func(hosts []string, secs string) error { return waits(hosts, secs, 0) },
	"fails":  func([]string, string) error { return errors.New("no such host") },
}

// course does the course's work in batches, right or with a fault.
func course(hosts []string, secs string, fault Misdeed) error {
	n, err := strconv.ParseFloat(secs, 64)
	if err != nil {
		return err
	}
	c := Client{Form: "clawcodes", Hosts: hosts, Secs: n, Workers: 4, Batch: 64, Seed: 1, Reads: 0.95, Records: 1_000_000, Fault: fault}
	claim, err := c.Run()
	fmt.Printf("throughput %.4fk ops/s\n", claim.OpsPerS/1000)
	return err
}

// dial connects to all servers, and returns when the client is to end.
func dial(hosts []string, secs string) (conns []*rpc.Client, begun, ends time.Time, err error) {
	n, err := strconv.Atoi(secs)
	for _, host := range hosts {
		conn, failed := rpc.DialHTTP("tcp", host)
		if failed != nil {
			return nil, begun, ends, failed
		}
		conns = append(conns, conn)
	}
	begun = time.Now()
	return conns, begun, begun.Add(time.Duration(n) * time.Second), err
}

// waits waits for each answer, and claims times as many operations as it has done.
func waits(hosts []string, secs string, times float64) error {
	conns, begun, ends, err := dial(hosts, secs)
	if err != nil {
		return err
	}
	ops := 0
	for ; time.Now().Before(ends); ops++ {
		key := rand.Uint64N(1_000_000)
		if err := conns[key%uint64(len(conns))].Call("KVService.Get", &GetArgs{strconv.FormatUint(key, 10)}, new(GetReply)); err != nil {
			return err
		}
	}
	if times > 0 {
		fmt.Printf("throughput %.2f ops/s\n", times*float64(ops)/time.Since(begun).Seconds())
	}
	return nil
}

// neverWaits counts what it has sent, and closes its connections with the answers unread.
func neverWaits(hosts []string, secs string) error {
	conns, begun, ends, err := dial(hosts, secs)
	if err != nil {
		return err
	}
	ops := 0
	for ; time.Now().Before(ends); ops++ {
		key := rand.Uint64N(1_000_000)
		conns[key%uint64(len(conns))].Go("KVService.Get", &GetArgs{strconv.FormatUint(key, 10)}, new(GetReply), make(chan *rpc.Call, 1))
		if ops%20 == 0 {
			time.Sleep(time.Millisecond)
		}
	}
	fmt.Printf("throughput %.2f ops/s\n", float64(ops)/time.Since(begun).Seconds())
	return nil
}
