package main

import (
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"kvlab/internal/redistest"
	"kvlab/metrics"
)

// The launcher inside a virtual lab knows the password of a URL.
func TestVirtualPassword(t *testing.T) {
	inCI(t)
	t.Parallel()
	dir, err := os.MkdirTemp("/var/tmp", "kvlab-test-") // a lab has a /tmp of its own
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	redistest.Start(t, "--unixsocket", filepath.Join(dir, "redis.sock"), "--requirepass", "s3cret")
	said, err := exec.Command(filepath.Join(build(t), "bin", "kvscluster"), "--virtual", "2", "--no-ceiling", "--out", t.TempDir(), "--target", "unix://:s3cret@"+filepath.Join(dir, "redis.sock"),
		"--records", "5000", "--workers", "4", "--rate", "5k", "--secs", "1", "--warmup", "0").CombinedOutput()
	if err != nil || strings.Contains(string(said), "s3cret") {
		t.Errorf("%v\n%s", err, said)
	}
}

// exporter asks a Redis what monitoring, a health check and a sentinel ask, until stop is closed.
func exporter(t *testing.T, address string, stop <-chan struct{}) {
	conn, err := net.Dial("tcp", address)
	if err != nil {
		t.Error(err)
		return
	}
	defer conn.Close()
	go io.Copy(io.Discard, conn)
	for {
		for _, command := range []string{"PING", "HELLO 2", "CLIENT SETNAME exporter", "CLIENT LIST", "COMMAND COUNT", "INFO all", "SELECT 0", "SLOWLOG LEN", "LATENCY LATEST",
			"MEMORY STATS", "CONFIG GET *", "DBSIZE", "EXISTS 1", "CLUSTER INFO", "OBJECT ENCODING 1", "ROLE"} {
			if _, err := conn.Write([]byte(command + "\r\n")); err != nil {
				t.Error(err)
				return
			}
		}
		select {
		case <-stop:
			return
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// A Redis with a replica, beside an exporter, is measured, and what others ask is told apart. A
// cluster is found from one of its nodes. A third-party client that writes is named.
func TestStoresInUse(t *testing.T) {
	inCI(t)
	t.Parallel()
	redis := redistest.Start(t)
	replica := redistest.Start(t, "--replicaof", "127.0.0.1", redis.Port)
	for !strings.Contains(replica.Do("INFO", "replication"), "master_link_status:up") {
		time.Sleep(10 * time.Millisecond)
	}
	stop := make(chan struct{})
	var asking sync.WaitGroup
	asking.Go(func() { exporter(t, redis.Addr, stop) })
	run, output := measure(t, "--target", "redis://"+redis.Addr)
	for _, name := range []string{"PING", "HELLO", "CLIENT LIST", "COMMAND COUNT", "INFO", "SELECT", "SLOWLOG LEN", "LATENCY LATEST", "MEMORY STATS", "CONFIG GET", "DBSIZE", "EXISTS", "REPLCONF"} {
		if run.Beside[name] == 0 || !strings.Contains(strings.Join(strings.Fields(output), " "), " "+name) {
			t.Errorf("no %s among %v of others, or in\n%s", name, run.Beside, output)
		}
	}
	if run.Counting != metrics.CountsExact || run.Store.Settings[metrics.Replicas] != "1" {
		t.Errorf("counts %s, store %+v", run.Counting, run.Store)
	}
	close(stop)
	asking.Wait()

	hidden := redistest.Start(t, "--rename-command", "INFO", "")
	out, err := exec.Command(filepath.Join(build(t), "bin", "kvscluster"), "--local", "--no-ceiling", "--out", t.TempDir(), "--target", "redis://"+hidden.Addr, "--secs", "1").CombinedOutput()
	if err == nil || !strings.Contains(strings.Join(strings.Fields(string(out)), " "), "add ?counts=none to the target") || hidden.Do("DBSIZE") != "0" {
		t.Errorf("a Redis without INFO: %v\n%s", err, out)
	}
	if run, _ := measure(t, "--target", "redis://"+hidden.Addr+"?counts=none"); run.Counting != metrics.CountsNone {
		t.Errorf("counts %s", run.Counting)
	}

	cluster := redistest.Cluster(t, 3)
	run, output = measure(t, "--target", "redis-cluster://"+cluster[1].Addr)
	if len(run.Servers()) != 3 || run.Counting != metrics.CountsExact {
		t.Errorf("%d servers, counts %s\n%s", len(run.Servers()), run.Counting, output)
	}
	two := "redis://" + redistest.Start(t).Addr + "," + redistest.Start(t).Addr
	if run, _ = measure(t, "--target", two); len(run.Servers()) != 2 || run.Counting != metrics.CountsExact {
		t.Errorf("%d servers, counts %s", len(run.Servers()), run.Counting)
	}
	out, err = exec.Command(filepath.Join(build(t), "bin", "kvscluster"), "--local", "--no-ceiling", "--out", t.TempDir(), "--target", "redis://"+cluster[1].Addr, "--secs", "1").CombinedOutput()
	if err == nil || !strings.Contains(strings.Join(strings.Fields(string(out)), " "), "it is a node of a Redis Cluster: want redis-cluster://"+cluster[1].Addr) {
		t.Errorf("a cluster's node as a Redis of its own: %v\n%s", err, out)
	}
}
