package client

import (
	"encoding/json"
	"errors"
	"flag"
	"reflect"
	"regexp"
	"strings"
	"testing"
	"time"

	"kvlab/kvs/driver"
	"kvlab/kvs/loadgen"
	"kvlab/kvs/node"
	"kvlab/metrics"
	"kvlab/workload"
	"kvlab/workload/size"
)

// Every flag sets its own part of the configuration, and no other.
func TestParse(t *testing.T) {
	tests := []struct {
		args   string
		change func(*loadgen.Config)
	}{
		{"", func(*loadgen.Config) {}},
		{"-workload YCSB-F", func(c *loadgen.Config) { c.Workload.Workload = workload.YCSBF }},
		{"-workload pool", func(c *loadgen.Config) {
			c.Workload.Workload, c.Workload.Records, c.Batch, c.Txn, c.Serializable = workload.Pool, 64, 21, 3, true
		}},
		{"-records 1M -batch 8k -workload pool -txn 0", func(c *loadgen.Config) {
			c.Workload.Workload, c.Workload.Records, c.Batch, c.Txn = workload.Pool, 1e6, 8e3, 0
		}},
		{"-workload mix -reads 0.7", func(c *loadgen.Config) { c.Workload.Workload, c.Workload.Reads = workload.Mix, 0.7 }},
		{"-distribution uniform", func(c *loadgen.Config) { c.Workload.Distribution = workload.Uniform }},
		{"-zipfian exact -theta 1.2", func(c *loadgen.Config) { c.Workload.Zipfian, c.Workload.Theta = workload.ZipfianExact, 1.2 }},
		{"-distribution hotspot -hot-ops 0.9 -hot-keys 0.1", func(c *loadgen.Config) {
			c.Workload.Distribution, c.Workload.HotOps, c.Workload.HotKeys = workload.Hotspot, 0.9, 0.1
		}},
		{"-scramble", func(c *loadgen.Config) { c.Workload.Scramble = true }},
		{"-records 1000", func(c *loadgen.Config) { c.Workload.Records = 1000 }},
		{"-seed 18446744073709551615", func(c *loadgen.Config) { c.Workload.Seed = 1<<64 - 1 }},
		{"-node node3 -client 1 -clients 2", func(c *loadgen.Config) { c.Node, c.Index, c.Clients = "node3", 1, 2 }},
		{"-hosts a:1,b:2", func(c *loadgen.Config) { c.Hosts = []string{"a:1", "b:2"} }},
		{"-transport inproc -engine mutex", func(c *loadgen.Config) { c.Transport, c.Engine = driver.InProcess, "mutex" }},
		{"-codec gob", func(c *loadgen.Config) { c.Codec = "gob" }},
		{"-router seed", func(c *loadgen.Config) { c.Router = "seed" }},
		{"-workers 8 -batch 100 -inflight 3", func(c *loadgen.Config) { c.Workers, c.Batch, c.InFlight = 8, 100, 3 }},
		{"-batch auto", func(c *loadgen.Config) { c.AutoBatch, c.TargetLatency = true, time.Millisecond }},
		{"-batch-bytes 2097152", func(c *loadgen.Config) { c.BatchBytes = 2 << 20 }},
		{"-batch auto -target-latency 250us", func(c *loadgen.Config) { c.AutoBatch, c.TargetLatency = true, 250*time.Microsecond }},
		{"-batch auto -batch 5", func(c *loadgen.Config) { c.Batch = 5 }},
		{"-connections 8 -socket-buffer 65536", func(c *loadgen.Config) { c.Connections, c.SocketBuffer = 8, 65536 }},
		{"-dedup", func(c *loadgen.Config) { c.Dedup = true }},
		{"-cache all", func(c *loadgen.Config) { c.Cached = 1<<64 - 1 }},
		{"-cache 64MiB -retry -crc -dedup", func(c *loadgen.Config) { c.Cached, c.Retry, c.CRC, c.Dedup = 64<<20, true, true, true }},
		{"-cache all -cache 0", func(*loadgen.Config) {}},
		{"-crc", func(c *loadgen.Config) { c.CRC = true }},
		{"-value-size 1024", func(c *loadgen.Config) { c.ValueSize = size.Constant(1024) }},
		{"-value-size 24-1024", func(c *loadgen.Config) { c.ValueSize = size.Law{Least: 24, Most: 1024} }},
		{"-value-size etc -key-size etc", func(c *loadgen.Config) { c.ValueSize, c.KeySize = size.Law{ETC: true}, size.Law{ETC: true} }},
		{"-key-prefix user", func(c *loadgen.Config) { c.KeyPrefix = "user" }},
		{"-verify full", func(c *loadgen.Config) { c.Verify = 1 }},
		{"-verify none", func(c *loadgen.Config) { c.Verify = loadgen.VerifyNone }},
		{"-verify 100", func(c *loadgen.Config) { c.Verify = 100 }},
		{"-warmup 0 -secs 1.5", func(c *loadgen.Config) { c.WarmUp, c.Window = 0, 1500*time.Millisecond }},
		{"-warmup 500ms -secs 2m", func(c *loadgen.Config) { c.WarmUp, c.Window = 500*time.Millisecond, 2*time.Minute }},
		{"-call-timeout 2.5", func(c *loadgen.Config) { c.CallTimeout = 2500 * time.Millisecond }},
		{"-retry", func(c *loadgen.Config) { c.Retry = true }},
		{"-rate 200k", func(c *loadgen.Config) { c.Rate.OpsPerS = 200_000 }},
		{"-rate 1.5M -arrivals constant", func(c *loadgen.Config) { c.Rate.OpsPerS, c.Arrivals = 1.5e6, workload.Constant }},
		{"-rate 70%", func(c *loadgen.Config) { c.Rate.Share = 0.7 }},
		{"-secs 5 -secs 7", func(c *loadgen.Config) { c.Window = 7 * time.Second }},
	}
	for _, test := range tests {
		t.Run(test.args, func(t *testing.T) {
			want := config{Config: loadgen.DefaultConfig()}
			test.change(&want.Config)
			if got, _, err := parse(strings.Fields(test.args)); err != nil || !reflect.DeepEqual(got, want) {
				t.Errorf("%+v, %v; want %+v", got, err, want)
			}
		})
	}
}

// Every error is the command line's, one line, and names the flag.
func TestParseErrors(t *testing.T) {
	tests := []struct{ args, want string }{
		{"-workload ycsb-z", `-workload "ycsb-z": want one of YCSB-A`},
		{"-workload mix -reads 1.5", "for flag -reads: want a share from 0 to 1"},
		{"-reads -1", "for flag -reads: want a share from 0 to 1"},
		{"-workload mix -reads NaN", "for flag -reads: want a share from 0 to 1"},
		{"-batch many", "for flag -batch: want a whole number of operations, such as 8192 or 8k, or auto"},
		{"-batch-bytes -1", "-batch-bytes -1: want 0 or more"},
		{"-batch auto -batch-bytes 4096", "and not with -batch auto"},
		{"-workload YCSB-E -batch-bytes 4096", "-batch-bytes 4096: the workload scans"},
		{"-target-latency 1ms", "-target-latency 1ms: want it only with -batch auto"},
		{"-batch 8 -target-latency 1ms", "-target-latency 1ms: want it only with -batch auto"},
		{"-batch auto -target-latency 0", "for flag -target-latency: want a time above 0"},
		{"-batch auto -target-latency -1ms", "for flag -target-latency: want a time above 0"},
		{"-batch auto -target-latency 5", "for flag -target-latency: want a time above 0 with its unit"},
		{"-ceiling", "-ceiling: unknown flag"},
		{"-rate 0", "for flag -rate: want operations per second"},
		{"-rate -5", "for flag -rate: want operations per second"},
		{"-rate NaN", "for flag -rate: want operations per second"},
		{"-rate fast", "for flag -rate: want operations per second of all clients together, such as 200k, or a share"},
		{"-rate %", "for flag -rate: want"},
		{"-rate 2000M", "-rate 2000000000: want at most 1000000000"},
		{"-rate 1k -inflight 2", "-inflight 2: want 1 with -rate"},
		{"-rate 1k -arrivals uniform", "-arrivals \"uniform\": want one of poisson, constant"},
		{"-rate 50% -warmup 0", "-rate 50%: want -warmup above 0"},
		{"-retry -codec gob", "-retry: -codec gob does not support it"},
		{"-retry -transport inproc", "-retry: -transport inproc has no connection that could break"},
		{"-retry -workers 4096 -connections 1 -inflight 64 -batch 1", "want at most 65536, and so more -connections"},
		{"-cache 5", "-cache 5: want at least 1280 bytes"},
		{"-cache -1MiB", "for flag -cache: want all"},
		{"-cache 1KiB", "-cache 1KiB: want at least 1280 bytes, for 8 values of 128 bytes"},
		{"-cache 1MiB -value-size 24-1048576", "-cache 1MiB: want at least 8388864 bytes, for 8 values of 1048576 bytes"},
		{"-cache all -codec gob", "-cache: -codec gob does not support it"},
		{"-cache all -codec gob", "-cache: -codec gob does not support it"},
		{"-cache all -transport inproc", "-cache: -transport inproc sends no bytes that it could save"},
		{"-cache all -repeat", "-repeat true: want neither -batch auto nor -rate nor -cache with it"},
		{"-call-timeout 0", "-call-timeout 0s: want more than 0 seconds"},
		{"-qps 8", "use -rate"},
		{"-connections -1", "-connections -1: want 1 to 64 (-workers), or 0"},
		{"-connections 65", "-connections 65: want 1 to 64 (-workers), or 0"},
		{"-socket-buffer -1", "-socket-buffer -1: want"},
		{"-theta x", `invalid value "x" for flag -theta`},
		{"-records -1", "-records"},
		{"-workers 0", "-workers 0: want 1 to 65536"},
		{"-workers 65537", "-workers 65537: want 1 to 65536"},
		{"-batch 0", "-batch 0: want at least 1 operation"},
		{"-trace-keys original", "-trace-keys original: want -replay and a trace with it"},
		{"-batch -5", "-batch -5: want at least 1 operation"},
		{"-inflight 0", "-inflight 0: want 1 to 64"},
		{"-inflight 65", "-inflight 65: want 1 to 64"},
		{"-value-size 23", "-value-size 23: want 24 (the header"},
		{"-value-size 1048577", "-value-size 1048577: want 24"},
		{"-key-prefix " + strings.Repeat("k", 236), "kkk: want at most 235 bytes"},
		{"-codec gob -crc", "-crc: -codec gob does not support it"},
		{"-transport udp", `-transport "udp": want one of tcp, inproc`},
		{"-client -1", "-client -1: want 0 to 0, one less than -clients"},
		{"-client 3 -clients 3", "-client 3: want 0 to 2, one less than -clients"},
		{"-clients 0", "-clients 0: want 1 to 65536"},
		{"-clients 65537", "-clients 65537: want 1 to 65536"},
		{"-warmup -1", "-warmup -1s: want 0 or more"},
		{"-secs 0", "-secs 0s: want more than 0"},
		// All of a round may go to one server, whose reply must fit a frame.
		{"-batch 64 -value-size 1048576", "-batch: want at most 63 operations: with -value-size 1048576"},
		{"-batch 40 -value-size 1048576 -hosts a:1,b:2", "-batch: want at most 31 operations: with -value-size 1048576 and 2 servers"},
		{"-batch auto -value-size 1048576 -hosts a:1" + strings.Repeat(",a:1", 99), "-batch: want at most 0 operations: with -value-size 1048576 and 100 servers"},
		{"-hosts a:1,,b:2", "-hosts"},
		{"-transport inproc -engine redis", `-engine "redis"`},
		{"-codec json", "-codec"},
		{"-router rendezvous", "-router"},
		{"-batch -1e3", "-batch"},
		{"-target 20000", "20000: want the store; operations per second are -rate 20000"},
		{"-value-size 12-20", "-value-size 12-20: want 24 (the header"},
		{"-value-size 1024-24", "for flag -value-size: want a number of bytes such as 128 or 1KB, a range"},
		{"-key-size 16-256", "-key-size 16-256: want at most 255 bytes"},
		{"-verify 0", "for flag -verify: want full, a whole number N for one value in N, or none"},
		{"-verify all", "for flag -verify: want full, a whole number"},
		{"-secs -1", "-secs -1s"},
		{"-secs NaN", "for flag -secs: want a number of seconds"},
		{"-secs Inf", "for flag -secs: want a number of seconds"},
		{"-secs 1e300", "for flag -secs: want a number of seconds"},
		{"-secs ten", "for flag -secs: want a number of seconds"},
		{"30", `unexpected argument "30"`},
		{"-secs 5 now", `unexpected argument "now"`},
		{"-scramble false", `unexpected argument "false"`},
		{"-numClients 8", "use -workers"},
		{"-batchSize 8", "use -batch"},
		{"-duration 8", "use -secs"},
	}
	for _, test := range tests {
		t.Run(test.args, func(t *testing.T) {
			_, _, err := parse(strings.Fields(test.args))
			var usage node.UsageError
			if !errors.As(err, &usage) || !strings.Contains(err.Error(), test.want) || strings.Contains(err.Error(), "\n") {
				t.Errorf("error %v, want a usage error of one line with %q", err, test.want)
			}
		})
	}
}

// Every hint leads to a flag that there is.
func TestHints(t *testing.T) {
	_, flags, err := parse(nil)
	if err != nil {
		t.Fatal(err)
	}
	for theirs, ours := range node.Theirs {
		name := regexp.MustCompile(`^-([a-z-]+)`).FindStringSubmatch(ours)
		if len(name) > 1 && name[1][0] != '-' && flags.Lookup(name[1]) == nil {
			t.Errorf("%s leads to %s, which does not exist", theirs, ours)
		}
		if flags.Lookup(theirs) != nil {
			t.Errorf("%s is a flag itself", theirs)
		}
	}
}

// A latency stands in the names of summary.txt, which are ASCII.
func TestLatencyPrints(t *testing.T) {
	for d, want := range map[duration]string{0: "", duration(250 * time.Microsecond): "250us", duration(time.Millisecond): "1ms"} {
		if got := d.String(); got != want {
			t.Errorf("%d ns prints as %q, want %q", d, got, want)
		}
	}
}

// What a log shows as a flag's value can be typed as one: it sets the same.
func TestFlagsPrintAsTyped(t *testing.T) {
	for _, args := range []string{
		"",
		"-workload mix -reads 0.25 -secs 0.5 -warmup 90s -verify full -hosts a:1,b:2,c:3 -theta 1.01 -scramble -crc",
		"-verify 7 -secs 1h30m -transport inproc",
		"-batch auto -target-latency 250us -connections 3 -socket-buffer 65536",
		"-batch 7",
		"-cache all",
		"-cache 1536KiB",
	} {
		want, flags, err := parse(strings.Fields(args))
		if err != nil {
			t.Fatal(err)
		}
		var typed []string
		flags.VisitAll(func(f *flag.Flag) {
			if f.Value.String() != "" {
				typed = append(typed, "-"+f.Name+"="+f.Value.String())
			}
		})
		if got, _, err := parse(typed); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %+v, %v; want %+v", typed, got, err, want)
		}
	}
}

// Every flag has a class, and what names a benchmark is a flag.
func TestFlagClasses(t *testing.T) {
	_, flags, err := parse(nil)
	if err != nil {
		t.Fatal(err)
	}
	classes := flags.Classes()
	for name := range flags.Values() {
		if classes.Of[name] == "" {
			t.Errorf("-%s has no class", name)
		}
	}
	for _, name := range classes.Main {
		if flags.Lookup(name) == nil {
			t.Errorf("there is no main flag -%s", name)
		}
	}
	for name, want := range map[string]metrics.FlagClass{"batch": metrics.ShapeFlag, "seed": metrics.WorkFlag, "ttl": metrics.WorkFlag, "hot-move": metrics.WorkFlag, "workers": metrics.WorkFlag, "tls": metrics.ShapeFlag, "tls-cert": metrics.OtherFlag, "hosts": metrics.OwnFlag, "engine": metrics.StoreFlag} {
		if got := classes.Of[name]; got != want {
			t.Errorf("-%s is of class %q, want %q", name, got, want)
		}
	}
}

// The flags' earlier names are taken, and recorded by the present ones.
func TestRenamedFlags(t *testing.T) {
	c, flags, err := parse([]string{"-linearizable", "-dedup"})
	if err != nil || !c.Linearizable || !c.Dedup {
		t.Fatalf("%+v, %v", c, err)
	}
	values := flags.Values()
	for old, name := range node.RenamedFlags {
		if _, known := values[old]; known {
			t.Errorf("-%s is recorded", old)
		}
		if _, known := values[name]; !known {
			t.Errorf("-%s is not recorded", name)
		}
	}
	if values["dedup"] != "true" || values["linearizable"] != "true" {
		t.Errorf("the values are %v", values)
	}
}

// Workers do not share a connection to a foreign store, and a driver may lower the default of
// -batch.
func TestForeignDefaults(t *testing.T) {
	row := driver.Row{Name: "test", Batch: 128, Check: func(driver.Options, driver.Use) error { return nil }}
	for args, want := range map[string][2]int{"": {128, 64}, "-batch 8 -workers 32": {8, 32}, "-connections 2": {128, 2}} {
		c, _, err := parse(append(strings.Fields(args), "-target", "test://h:1"), row)
		if err != nil || [2]int{c.Batch, c.Conns()} != want {
			t.Errorf("%s: batch %d, %d connections, %v; want %v", args, c.Batch, c.Conns(), err, want)
		}
	}
}

// A plain program says what only extra/rivals' has, and does not run.
func TestRival(t *testing.T) {
	program := Program(driver.Rival("etcd"))
	var stdout, stderr strings.Builder
	if status := program.Main([]string{"-settings", "-target", "etcd"}, strings.NewReader(""), &stdout, &stderr); status != 0 {
		t.Fatalf("status %d, %s", status, &stderr)
	}
	var values metrics.Settings
	if err := json.Unmarshal([]byte(stdout.String()), &values); err != nil || !strings.Contains(values[metrics.RivalValue], "etcd") {
		t.Errorf("settings %v, %v; want what the program lacks", values, err)
	}
	if status := program.Main([]string{"-target", "etcd"}, strings.NewReader(""), &stdout, &stderr); status != 2 || !strings.Contains(stderr.String(), "only extra/rivals' kvsclient has it") {
		t.Errorf("status %d, %q", status, &stderr)
	}
}
