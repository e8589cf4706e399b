package peers_test

import (
	"bufio"
	"crypto/rand"
	"fmt"
	"net"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"kvlab/internal/redistest"
	"kvlab/kvs/route"
	"kvlab/metrics"
	"kvlab/workload"
	"kvlab/workload/size"
)

// BenchmarkScansAgainstRedis has kvlab with btree and a Redis sorted set execute YCSB-E in
// turn, b.N times each, and reports the medians and their ratio. -benchtime 5x makes five
// pairs. It also reports the processor time that each server takes for an operation, which
// other work on the machine hardly changes.
//
// YCSB's binding for Redis (RedisClient.java) keeps hashes of the keys as the scores of a
// sorted set, so that a scan is in no order of the keys, and gets each record by a further
// request; go-ycsb's refuses scans. Here Redis does what it does best: the members of one
// sorted set are key and value, in the keys' order, and a scan is one ZRANGEBYLEX.
func BenchmarkScansAgainstRedis(b *testing.B) {
	redistest.Need(b, "redis-server", "redis-cli")
	port := redistest.Start(b).Port
	config := workload.DefaultConfig()
	config.Workload, config.Records = workload.YCSBE, uint64(redisRecords())
	plan, err := workload.New(config)
	if err != nil {
		b.Fatal(err)
	}
	set := sortedSet{plan: plan, keys: route.NewKeys(config, "user", size.Law{}), port: port}
	set.fill(b)
	out := b.TempDir()
	var redis, kvlab, redisCPU, kvlabCPU []float64
	for b.Loop() {
		ops, cpu := set.run(b)
		redis, redisCPU = append(redis, ops), append(redisCPU, cpu)
		kvlab = append(kvlab, kvlabOps(b, out, "--workload", workload.YCSBE, "--engine", "btree"))
		run := latestRun(b, out)
		kvlabCPU = append(kvlabCPU, run.CPUPerOp(metrics.Server)/1e3)
	}
	b.ReportMetric(median(redis), "redis-ops/s")
	b.ReportMetric(median(kvlab), "kvlab-ops/s")
	b.ReportMetric(median(kvlab)/median(redis), "kvlab/redis")
	b.ReportMetric(median(redisCPU), "redis-cpu-us/op")
	b.ReportMetric(median(kvlabCPU), "kvlab-cpu-us/op")
	b.ReportMetric(0, "ns/op") // the time of a pair says nothing
	if *update {
		writeTable(b, "scans against redis", fmt.Sprintf("| YCSB-E, pairs of runs: %d | ops/s | processor time of the server for an operation |\n|---|---|---|\n"+
			"| `./run-cluster.sh --workload YCSB-E --engine btree` | %s | %.0f us |\n"+
			"| Redis: `ZRANGEBYLEX` and `ZADD`, %d connections, %d requests in each | %s | %.0f us |\n"+
			"| ratio | **%.1f x** | **%.2f x** |\n",
			len(redis), people(median(kvlab)), median(kvlabCPU), setConns, setDepth, people(median(redis)), median(redisCPU),
			median(kvlab)/median(redis), median(kvlabCPU)/median(redisCPU)))
	}
}

// The load of a sortedSet: its connections, and the requests in flight in each.
const setConns, setDepth = 8, 16

// sortedSet is a workload on a sorted set of a Redis. All scores are equal, so that the
// members are in the order of their bytes.
type sortedSet struct {
	plan *workload.Plan
	keys route.Keys
	port string
	runs int
}

// add appends the request that stores a record with a random value of 128 bytes.
func (s *sortedSet) add(c *redisConn, id uint64) {
	member, _ := s.keys.Append(make([]byte, 0, 160), id)
	value := make([]byte, 128)
	rand.Read(value)
	c.send("ZADD", "records", "0", string(member)+":"+string(value))
}

// fill stores the loaded records.
func (s *sortedSet) fill(tb testing.TB) {
	tb.Helper()
	c := dialRedis(tb, s.port)
	const step = 1000
	for id := range uint64(redisRecords()) {
		s.add(c, id)
		if (id+1)%step == 0 {
			if _, err := c.receive(step); err != nil {
				tb.Fatal(err)
			}
		}
	}
}

// run executes the workload for a window. It returns the operations that were answered in a
// second, and Redis's processor time for one in microseconds.
func (s *sortedSet) run(tb testing.TB) (rate, cpu float64) {
	tb.Helper()
	before := redisCPU(tb, s.port)
	seconds, _ := strconv.Atoi(window())
	var done, pairs atomic.Int64
	var group sync.WaitGroup
	begun := time.Now()
	end := begun.Add(time.Duration(seconds) * time.Second)
	for worker := range setConns {
		c := dialRedis(tb, s.port)
		// Another node in each run, so that its inserts are of new records.
		source := s.plan.Source(workload.Place{Node: s.runs, Nodes: 1 << 10, Worker: worker, Workers: setConns})
		group.Go(func() {
			var ops [setDepth]workload.Op
			for time.Now().Before(end) {
				source.Fill(ops[:])
				for _, op := range ops {
					s.request(c, op)
				}
				n, err := c.receive(setDepth)
				if err != nil {
					tb.Error(err)
					return
				}
				done.Add(setDepth)
				pairs.Add(int64(n))
			}
		})
	}
	group.Wait()
	s.runs++
	if each := float64(pairs.Load()) / float64(done.Load()); each < 45 || each > 51 {
		tb.Errorf("an operation returns %.1f pairs; want 48 with scans of 1 to 100", each)
	}
	rate = float64(done.Load()) / time.Since(begun).Seconds()
	return rate, (redisCPU(tb, s.port) - before) * 1e6 / float64(done.Load())
}

// redisCPU returns the processor time in seconds that a Redis has used.
func redisCPU(tb testing.TB, port string) (seconds float64) {
	tb.Helper()
	out, err := exec.Command("redis-cli", "-p", port, "info", "cpu").Output()
	used := regexp.MustCompile(`(?m)^used_cpu_(?:sys|user):([0-9.]+)`).FindAllSubmatch(out, -1)
	if err != nil || len(used) != 2 {
		tb.Fatalf("redis-cli info cpu: %v\n%s", err, out)
	}
	return parse(tb, string(used[0][1])) + parse(tb, string(used[1][1]))
}

// request appends the request for an operation.
func (s *sortedSet) request(c *redisConn, op workload.Op) {
	if op.Kind == workload.Insert {
		s.add(c, op.Key)
		return
	}
	start, _ := s.keys.Append(make([]byte, 0, 32), op.Key)
	c.send("ZRANGEBYLEX", "records", "["+string(start), "+", "LIMIT", "0", strconv.Itoa(int(op.Limit)))
}

// redisConn is a connection on which requests are sent together.
type redisConn struct {
	conn net.Conn
	in   *bufio.Reader
	out  *bufio.Writer
}

func dialRedis(tb testing.TB, port string) *redisConn {
	tb.Helper()
	conn, err := net.Dial("tcp", "127.0.0.1:"+port)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { conn.Close() })
	return &redisConn{conn, bufio.NewReaderSize(conn, 64<<10), bufio.NewWriterSize(conn, 64<<10)}
}

// send appends a request.
func (c *redisConn) send(words ...string) {
	fmt.Fprintf(c.out, "*%d\r\n", len(words))
	for _, word := range words {
		fmt.Fprintf(c.out, "$%d\r\n%s\r\n", len(word), word)
	}
}

// receive sends what was appended and reads n replies. It returns the number of strings in
// them, whose content it passes over.
func (c *redisConn) receive(n int) (values int, err error) {
	if err := c.out.Flush(); err != nil {
		return 0, err
	}
	for ; n > 0; n-- {
		line, err := c.in.ReadString('\n')
		if err != nil {
			return values, err
		}
		length, err := strconv.Atoi(strings.TrimSpace(line[1:]))
		switch {
		case line[0] == '*' && err == nil:
			n += length
		case line[0] == '$' && err == nil:
			values++
			if _, err := c.in.Discard(length + 2); err != nil {
				return values, err
			}
		case line[0] != ':':
			return values, fmt.Errorf("redis replies %q", line)
		}
	}
	return values, nil
}
