package main

import (
	"bytes"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"kvlab/internal/redistest"
	"kvlab/metrics"
)

// startMemcached starts a memcached with further arguments, waits until it takes connections
// on an address, and ends it with the test.
func startMemcached(t *testing.T, network, address string, args ...string) {
	t.Helper()
	redistest.Need(t, "memcached")
	cmd := exec.Command("memcached", append([]string{"-u", "root", "-U", "0", "-M"}, args...)...)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cmd.Process.Kill()
		cmd.Wait()
	})
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(10 * time.Millisecond) {
		if conn, err := net.Dial(network, address); err == nil {
			conn.Close()
			return
		} else if time.Now().After(deadline) {
			t.Fatal(err)
		}
	}
}

// spy replaces the nodes' programs of a checkout by ones that write their arguments to a file
// first.
func spy(t *testing.T, root string) (file string) {
	t.Helper()
	file = filepath.Join(t.TempDir(), "arguments")
	for _, name := range []string{"kvsserver", "kvsclient"} {
		path := filepath.Join(root, "bin", name)
		if err := os.Rename(path, path+"-real"); err != nil {
			t.Fatal(err)
		}
		script := "#!/bin/sh\necho \"$0 $@\" >>'" + file + "'\nexec '" + path + "-real' \"$@\"\n"
		if err := os.WriteFile(path, []byte(script), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	return file
}

// Stores are reached at the addresses that people have for them, and no password of one is
// seen in what the run prints or keeps, or in the arguments of its processes.
func TestAddresses(t *testing.T) {
	inCI(t)
	t.Parallel()
	const password = "s3cret/word"
	sockets, err := os.MkdirTemp("", "sock")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(sockets) })
	inURL := strings.ReplaceAll(password, "/", "%2F")
	redis := redistest.Start(t, "--requirepass", password, "--user", "kv", "on", ">"+password, "~*", "+@all", "--unixsocket", filepath.Join(sockets, "r"))
	certificate, key, authority := redistest.Certificates(t)
	port := strconv.Itoa(redistest.Free(t))
	redistest.Start(t, "--requirepass", password, "--tls-port", port, "--tls-cert-file", certificate, "--tls-key-file", key, "--tls-ca-cert-file", authority, "--tls-auth-clients", "no")
	users := filepath.Join(sockets, "users")
	if err := os.WriteFile(users, []byte("kv:"+password+"\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	cached := strconv.Itoa(redistest.Free(t))
	startMemcached(t, "tcp", "127.0.0.1:"+cached, "-l", "127.0.0.1", "-p", cached, "-Y", users)
	startMemcached(t, "unix", filepath.Join(sockets, "m"), "-s", filepath.Join(sockets, "m"))
	file := filepath.Join(t.TempDir(), "mine.toml")
	if err := os.WriteFile(file, []byte("driver = 'redis'\nservers = ['"+redis.Addr+"']\n[settings]\npassword = '"+password+"'\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, target := range map[string]string{
		"user and password": "redis://kv:" + inURL + "@" + redis.Addr + "/0",
		"query":             "redis://" + redis.Addr + "?password=" + inURL,
		"TLS":               "rediss://:" + inURL + "@127.0.0.1:" + port + "?ca=" + authority,
		"socket":            "unix://:" + inURL + "@" + filepath.Join(sockets, "r"),
		"file":              file,
		"memcached":         "memcached://kv:" + inURL + "@127.0.0.1:" + cached,
		"memcached socket":  "memcached://" + filepath.Join(sockets, "m"),
	} {
		t.Run(name, func(t *testing.T) {
			root, out := build(t), t.TempDir()
			arguments := spy(t, root)
			said, err := exec.Command(filepath.Join(root, "bin", "kvscluster"), "--local", "--no-ceiling", "--out", out, "--target", target, "--key-prefix", strings.ReplaceAll(name, " ", "-"),
				"--records", "2000", "--workers", "2", "--batch", "32", "--rate", "2k", "--warmup", "0", "--secs", "1").CombinedOutput()
			if err != nil || !strings.HasSuffix(string(said), "\nverdict VALID\n") {
				t.Fatalf("%v\n%s", err, said)
			}
			hides := func(where string, text []byte) {
				if bytes.Contains(text, []byte(password)) || bytes.Contains(text, []byte(inURL)) {
					t.Errorf("%s has the password", where)
				}
			}
			hides("the output", said)
			text, err := os.ReadFile(arguments)
			if err != nil || !bytes.Contains(text, []byte("-settings")) {
				t.Errorf("arguments %s, %v", text, err)
			}
			hides("a process's command line", text)
			err = filepath.WalkDir(out, func(path string, d fs.DirEntry, err error) error {
				if err != nil || !d.Type().IsRegular() {
					return err
				}
				text, err := os.ReadFile(path)
				hides(path, text)
				return err
			})
			if err != nil {
				t.Error(err)
			}
		})
	}
	wrong, err := exec.Command(filepath.Join(build(t), "bin", "kvscluster"), "--local", "--no-ceiling", "--out", t.TempDir(), "--target", "redis://kv:wr0ng@"+redis.Addr, "--secs", "1").CombinedOutput()
	if err == nil || strings.Contains(string(wrong), "wr0ng") || !strings.Contains(string(wrong), "WRONGPASS") {
		t.Errorf("a wrong password: %v\n%s", err, wrong)
	}
}

// A second run that inserts is refused before its load while the keys of the first are there, and
// told what to do; it is VALID with keys of its own, or in the emptied store. The first leaves no
// trace in a run that does not insert.
func TestEarlierKeys(t *testing.T) {
	inCI(t)
	t.Parallel()
	redis, port := redistest.Start(t), strconv.Itoa(redistest.Free(t))
	startMemcached(t, "tcp", "127.0.0.1:"+port, "-l", "127.0.0.1", "-p", port)
	for target, flush := range map[string]func(){
		"redis://" + redis.Addr:         func() { redis.Do("FLUSHALL") },
		"memcached://127.0.0.1:" + port: func() { flushMemcached(t, "127.0.0.1:"+port) }, // it still counts the keys
	} {
		t.Run(target, func(t *testing.T) {
			t.Parallel()
			inserts := []string{"--target", target, "--workload", "YCSB-D"}
			measure(t, inserts...)
			measure(t, "--target", target, "--workload", "YCSB-A")
			out, err := exec.Command(filepath.Join(build(t), "bin", "kvscluster"), append(inserts, "--local", "--no-ceiling", "--out", t.TempDir(), "--records", "10000", "--workers", "4", "--secs", "1")...).CombinedOutput()
			said := strings.Join(strings.Fields(string(out)), " ")
			if err == nil || !strings.Contains(said, "the store holds keys of an earlier run") || !strings.Contains(said, "--key-prefix") || !strings.Contains(said, "FLUSHALL") || strings.Contains(said, "phase load") {
				t.Errorf("%s: %v\n%s", target, err, out)
			}
			measure(t, append(inserts, "--key-prefix", "second-")...)
			flush()
			measure(t, inserts...)
			// Each trial of a sweep inserts under its own key prefix, so none finds the keys of another.
			out, err = exec.Command(filepath.Join(build(t), "bin", "kvscluster"), append(inserts, "--local", "--no-ceiling", "--out", t.TempDir(), "--records", "10000", "--workers", "4", "--rate", "5k", "--warmup", "0", "--secs", "1", "--sweep", "batch=16,32")...).CombinedOutput()
			if err != nil || !strings.Contains(string(out), "2 trials, each with counts exact") {
				t.Errorf("%s: %v\n%s", target, err, out)
			}
		})
	}
}

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

// flushMemcached drops all keys of a memcached.
func flushMemcached(t *testing.T, address string) {
	t.Helper()
	conn, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	answer := make([]byte, 4)
	if _, err := fmt.Fprint(conn, "flush_all\r\n"); err != nil {
		t.Fatal(err)
	} else if _, err := io.ReadFull(conn, answer); err != nil || string(answer) != "OK\r\n" {
		t.Fatalf("%q, %v", answer, err)
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
