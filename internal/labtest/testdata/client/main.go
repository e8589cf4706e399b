package main

import (
	"flag"
	"fmt"
	"log"
	"math"
	"math/rand"
	"net/rpc"
	"sort"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

func main() {
	hosts := flag.String("hosts", "localhost:8080", "servers")
	secs := flag.Int("secs", 30, "of the run")
	clients := flag.Int("numClients", 1, "goroutines")
	flag.Parse()
	var law []float64 // of the keys up to each one
	for sum, key := 0.0, 1; key <= 1_000_000; key++ {
		sum += math.Pow(float64(key), -0.99)
		law = append(law, sum)
	}
	begun := time.Now()
	var ops uint64
	var all sync.WaitGroup
	for i := 0; i < *clients; i++ {
		all.Add(1)
		go func(seed int64) {
			defer all.Done()
			var servers []*rpc.Client
			for _, host := range strings.Split(*hosts, ",") {
				server, err := rpc.DialHTTP("tcp", host)
				if err != nil {
					log.Fatal(err)
				}
				servers = append(servers, server)
			}
			random := rand.New(rand.NewSource(seed))
			for time.Since(begun) < time.Duration(*secs)*time.Second {
				key := sort.SearchFloat64s(law, random.Float64()*law[len(law)-1])
				server, name, err := servers[key%len(servers)], strconv.Itoa(key), error(nil)
				if random.Float64() < 0.95 {
					err = server.Call("KVService.Get", &struct{ Key string }{name}, &struct{ Value string }{})
				} else {
					err = server.Call("KVService.Put", &struct{ Key, Value string }{name, strings.Repeat("x", 128)}, &struct{}{})
				}
				if err != nil {
					log.Fatal(err)
				}
				atomic.AddUint64(&ops, 1)
			}
		}(int64(i))
	}
	all.Wait()
	fmt.Printf("throughput %.2f ops/s\n", float64(ops)/time.Since(begun).Seconds())
}
