package server

import (
	"errors"
	"reflect"
	"strings"
	"testing"
	"time"

	"kvlab/kvs/engine"
	"kvlab/kvs/node"
	"kvlab/kvs/wire"
	"kvlab/metrics"
)

func TestParse(t *testing.T) {
	usual := config{Options: wire.Options{Hello: wire.Hello{Node: "server", Codec: wire.Codecs[0]}, Limits: wire.DefaultLimits()}, Gateways: []string{""}, Listen: "127.0.0.1:8080", Engine: engine.Names[0], Model: "conn", Policy: "nowait", MaxConnections: 4096, MaxMemory: "70%"}
	with := func(change func(*config)) config {
		c := usual
		change(&c)
		return c
	}
	tests := []struct {
		args string
		want config
	}{
		{"", usual},
		{"-port 9000", with(func(c *config) { c.Listen = "127.0.0.1:9000" })},
		{"-server 1 -servers 2", with(func(c *config) { c.Server, c.Servers = 1, 2 })},
		{"-listen [::1]:8080 -port 0", with(func(c *config) { c.Listen = "[::1]:0" })},
		{"-listen localhost:7000", with(func(c *config) { c.Listen = "localhost:7000" })},
		{"-listen 10.10.1.2:8080", with(func(c *config) { c.Listen = "10.10.1.2:8080" })},
		{"-listen 192.168.1.1:8080", with(func(c *config) { c.Listen = "192.168.1.1:8080" })},
		{"-listen [fd00::1]:8080", with(func(c *config) { c.Listen = "[fd00::1]:8080" })},
		{"-listen 0.0.0.0:8080 -allow-public", with(func(c *config) { c.Listen, c.AllowPublic = "0.0.0.0:8080", true })},
		{"-listen :8080 -allow-public", with(func(c *config) { c.Listen, c.AllowPublic = ":8080", true })},
		{"-listen 8.8.8.8:8080 -allow-public", with(func(c *config) { c.Listen, c.AllowPublic = "8.8.8.8:8080", true })},
		{"-node node0 -engine mutex -codec gob -max-connections 1", with(func(c *config) { c.Node, c.Engine, c.Codec, c.MaxConnections = "node0", "mutex", "gob", 1 })},
		{"-policy woundwait", with(func(c *config) { c.Policy = "woundwait" })},
		{"-inject pause=1s@9s", with(func(c *config) { c.Inject = "pause=1s@9s" })},
		{"-max-frame 1000 -max-batch 5 -request-timeout 3s -idle-timeout 5m", with(func(c *config) {
			c.Limits = wire.Limits{Frame: 1000, Batch: 5, Request: 3 * time.Second, Idle: 5 * time.Minute}
		})},
	}
	for _, test := range tests {
		t.Run(test.args, func(t *testing.T) {
			if got, _, err := parse(strings.Fields(test.args), nil, beside); err != nil || !reflect.DeepEqual(got, test.want) {
				t.Errorf("%+v, %v; want %+v", got, err, test.want)
			}
		})
	}
}

// Every error is the command line's, one line, and names the flag.
func TestParseErrors(t *testing.T) {
	tests := []struct{ args, want string }{
		{"-beside 0.0.0.0:6379", `-beside "0.0.0.0:6379": every interface`},
		{"-beside 8.8.8.8:6379", `-beside "8.8.8.8:6379": a public address`},
		{"-listen 0.0.0.0:8080", `-listen "0.0.0.0:8080": every interface`},
		{"-listen :8080", `-listen ":8080": every interface`},
		{"-listen [::]:8080", `-listen "[::]:8080": every interface`},
		{"-listen 8.8.8.8:8080", `-listen "8.8.8.8:8080": a public address`},
		{"-listen [2001:db8::1]:8080", "a public address"},
		{"-listen [::ffff:8.8.8.8]:8080", "a public address"},
		{"-listen localhost", `-listen "localhost": want host:port`},
		{"-listen localhost:http-is-no-port", "want host:port"},
		{"-listen 127.0.0.1:70000", "want host:port"},
		{"-server 1", "-server 1 -servers 0: want -server 0 to -servers minus 1"},
		{"-server 2 -servers 2", "-server 2 -servers 2"},
		{"-server -1 -servers 2", "-server -1 -servers 2"},
		{"-servers -1", "-server 0 -servers -1"},
		{"-tls-cert a", "-tls-cert, -tls-key and -tls-ca go together"},
		{"-port 70000", `-port "70000"`},
		{"-listen localhost -port 80", "-listen"},
		{"-codec json", `-codec "json"`},
		{"-model poll:4", `-model "poll": want one of conn, pool; did you mean pool?`},
		{"-model pool:0", "-model pool:0: want pool:N or pool:N,QUEUE, each from 1 to 65536"},
		{"-model pool", "-model pool: want pool:N"},
		{"-model pool:", "-model pool:: want pool:N"},
		{"-model pool:4,", "-model pool:4,: want pool:N"},
		{"-model pool:4,0", "-model pool:4,0: want pool:N"},
		{"-model pool:4,65537", "-model pool:4,65537: want pool:N"},
		{"-model conn:1", "-model conn:1: want conn"},
		{"-model pool:1 -repeat", "-repeat -model pool:1: want -model conn with -repeat"},
		{"-policy waitdei", `-policy "waitdei": want one of nowait, waitdie, woundwait; did you mean waitdie?`},
		{"-max-connections 0", "-max-connections 0"},
		{"-max-connections many", "-max-connections"},
		{"-max-memory 12", `-max-memory "12": want a share of the machine's, 70%, or a size, 12GiB or 500MiB`},
		{"-max-batch 0", "-max-batch 0: want"},
		{"-max-frame 0", "-max-frame 0: want 1 to 67108864 bytes"},
		{"-request-timeout 5", `-request-timeout: want a time such as 500ms or 2s`},
		{"-idle-timeout 0s", "-idle-timeout 0s: want at least 1s"},
		{"-inject sleep=1s", `-inject "sleep=1s": want slowdown=5%, pause=100ms@10s or service=1ms`},
		{"-sample-every 2s", "-sample-every 2s: want 10ms to 1s, or 0"},
		{"-socket-buffer -1", "-socket-buffer -1: want 1 to 1073741824 bytes, or 0"},
		{"8080", `unexpected argument "8080"`},
		{"-addr 127.0.0.1:8080", "use -listen host:port"},
		{"-numshards 64", "use -engine"},
	}
	for _, test := range tests {
		t.Run(test.args, func(t *testing.T) {
			c, _, err := parse(strings.Fields(test.args), nil, beside)
			var usage node.UsageError
			if !errors.As(err, &usage) || !strings.Contains(err.Error(), test.want) || strings.Contains(err.Error(), "\n") {
				t.Errorf("%+v, error %q; want a usage error with %q", c, err, test.want)
			}
		})
	}
}

// Every hint leads to a flag that there is.
func TestHints(t *testing.T) {
	_, flags, err := parse(nil, nil, beside)
	if err != nil {
		t.Fatal(err)
	}
	for theirs, ours := range aliases {
		name, _, _ := strings.Cut(strings.TrimPrefix(ours, "-"), " ")
		if flags.Lookup(name) == nil {
			t.Errorf("%s leads to %s, which does not exist", theirs, ours)
		}
		if flags.Lookup(theirs) != nil {
			t.Errorf("%s is a flag itself", theirs)
		}
	}
}

// Every flag has a class, and what names a benchmark is a flag.
func TestFlagClasses(t *testing.T) {
	_, flags, err := parse(nil, nil, beside)
	if err != nil {
		t.Fatal(err)
	}
	classes := flags.Classes()
	for name := range flags.Values() {
		if classes.Of[name] == "" {
			t.Errorf("-%s has no class", name)
		}
	}
	if models[0].Name != metrics.DefaultModel {
		t.Errorf("the default model is %s, in records %s", models[0].Name, metrics.DefaultModel)
	}
	for _, name := range classes.Main {
		if flags.Lookup(name) == nil {
			t.Errorf("there is no main flag -%s", name)
		}
	}
	for name, want := range map[string]metrics.FlagClass{"engine": metrics.StoreFlag, "model": metrics.StoreFlag, "codec": metrics.ShapeFlag, "listen": metrics.OwnFlag, "server": metrics.OwnFlag, "inject": metrics.OtherFlag} {
		if got := classes.Of[name]; got != want {
			t.Errorf("-%s is of class %q, want %q", name, got, want)
		}
	}
}
