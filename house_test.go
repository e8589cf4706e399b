// Package kvlab_test holds what is true of the repository as a whole: which
// room may import which, that every command in the README works, and how the
// store compares with a real peer.
package kvlab_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

const module = "kvlab"

// mayImport says what each room may import of the others. A room's own
// subfolders may import the room; a main may import the package it is in.
var mayImport = map[string][]string{
	"kvs":                     {},
	"kvs/certs":               {},
	"kvs/cache":               {"kvs", "kvs/engine/prefetch", "metrics/input"},
	"kvs/client":              {"kvs/certs", "kvs/driver", "kvs/engine", "kvs/history", "kvs/loadgen", "kvs/node", "kvs/route", "kvs/target", "kvs/value", "kvs/wire", "metrics", "metrics/format", "metrics/input", "metrics/latency", "metrics/usage"},
	"kvs/client/kvsclient":    {"kvs/client", "kvs/driver", "kvs/driver/lab", "kvs/driver/memcached", "kvs/driver/redis"},
	"kvs/cluster":             {"kvs/cluster/contain", "kvs/cluster/nodes", "kvs/cluster/plan", "kvs/cluster/preflight", "kvs/cluster/remote", "kvs/cluster/trial", "kvs/cluster/virtual", "kvs/experiment", "kvs/experiment/class", "kvs/experiment/study", "kvs/node", "kvs/target", "kvs/verdict", "metrics", "metrics/build", "metrics/curve", "metrics/format", "metrics/input", "metrics/stats", "plots", "plots/class", "plots/compare", "plots/index"},
	"kvs/cluster/cgroup":      {},
	"kvs/cluster/contain":     {"kvs/cluster/cgroup", "kvs/cluster/namespace", "kvs/node", "metrics", "metrics/format", "metrics/input"},
	"kvs/cluster/fakenode":    {"kvs/history", "kvs/node", "kvs/route", "kvs/value", "metrics", "metrics/latency", "workload", "workload/size"},
	"kvs/cluster/faults":      {},
	"kvs/cluster/mutants":     {},
	"kvs/cluster/kvsfake":     {"kvs/cluster/fakenode"},
	"kvs/cluster/kvscluster":  {"kvs/cluster", "kvs/cluster/contain", "kvs/cluster/virtual"},
	"kvs/cluster/namespace":   {},
	"kvs/cluster/nodes":       {"metrics/format"},
	"kvs/cluster/plan":        {"kvs/cluster/contain", "kvs/cluster/nodes", "kvs/node", "metrics", "metrics/format", "metrics/input", "workload/size"},
	"kvs/cluster/preflight":   {"kvs/cluster/nodes", "kvs/cluster/plan", "kvs/cluster/remote", "kvs/node", "metrics", "metrics/clock", "metrics/format", "metrics/stats"},
	"kvs/cluster/remote":      {"kvs/cluster/contain", "kvs/cluster/nodes", "kvs/cluster/plan", "kvs/node", "kvs/target", "metrics", "metrics/format"},
	"kvs/cluster/trial":       {"kvs/certs", "kvs/cluster/plan", "kvs/cluster/remote", "kvs/history", "kvs/node", "metrics", "metrics/build", "metrics/clock", "metrics/format", "metrics/latency", "metrics/stats", "workload/size"},
	"kvs/cluster/virtual":     {"kvs/cluster/cgroup", "kvs/cluster/namespace", "metrics"},
	"kvs/driver":              {"kvs", "kvs/cache", "kvs/engine", "kvs/service", "kvs/wire", "metrics", "metrics/input"},
	"kvs/driver/drivertest":   {"kvs", "kvs/driver", "kvs/kvstest", "kvs/wire/faultproxy"},
	"kvs/driver/lab":          {"kvs", "kvs/driver", "kvs/wire", "metrics", "metrics/input"},
	"kvs/driver/lab/labtest":  {},
	"kvs/driver/memcached":    {"kvs", "kvs/driver", "kvs/driver/pipeline", "metrics"},
	"kvs/driver/pipeline":     {"kvs", "kvs/driver", "kvs/wire"},
	"kvs/driver/redis":        {"kvs", "kvs/driver", "kvs/driver/pipeline", "kvs/resp", "kvs/route", "kvs/wire", "metrics", "metrics/input"},
	"kvs/driver/redistest":    {"kvs/certs"},
	"kvs/engine":              {"kvs", "kvs/engine/prefetch", "kvs/engine/slab", "metrics/input"},
	"kvs/engine/enginetest":   {"kvs", "kvs/kvstest", "kvs/route", "kvs/value"},
	"kvs/engine/prefetch":     {},
	"kvs/engine/slab":         {"kvs", "kvs/engine/prefetch"},
	"kvs/experiment":          {"kvs/verdict", "metrics", "metrics/curve", "metrics/format", "metrics/input", "metrics/stats", "workload/size"},
	"kvs/experiment/class":    {"kvs/experiment", "kvs/target", "kvs/verdict", "metrics", "metrics/format", "metrics/input", "metrics/stats", "plots/compare"},
	"kvs/experiment/study":    {"kvs/experiment", "metrics", "metrics/format", "metrics/input", "metrics/stats"},
	"kvs/history":             {"kvs", "kvs/route", "kvs/value", "metrics", "metrics/clock"},
	"kvs/kvstest":             {"kvs"},
	"kvs/loadgen":             {"kvs", "kvs/driver", "kvs/history", "kvs/route", "kvs/value", "metrics", "metrics/clock", "metrics/input", "metrics/latency", "workload", "workload/size"},
	"kvs/node":                {"kvs/certs", "kvs/node/tune", "metrics", "metrics/build", "metrics/clock", "metrics/input", "metrics/usage"},
	"kvs/node/tune":           {"metrics", "metrics/usage"},
	"kvs/resp":                {"kvs"},
	"kvs/rivals":              {},
	"kvs/rivals/disk":         {"kvs", "kvs/engine"},
	"kvs/rivals/etcd":         {"kvs", "kvs/driver", "kvs/wire", "metrics"},
	"kvs/rivals/go-ycsb":      {"kvs", "kvs/driver", "kvs/route"},
	"kvs/rivals/kvsclient":    {"kvs/client", "kvs/driver/lab", "kvs/driver/memcached", "kvs/driver/redis", "kvs/rivals/etcd"},
	"kvs/rivals/labs":         {"kvs", "kvs/engine"},
	"kvs/rivals/kvsserver":    {"kvs/driver", "kvs/driver/lab", "kvs/driver/memcached", "kvs/driver/redis", "kvs/engine", "kvs/rivals/disk", "kvs/rivals/etcd", "kvs/rivals/labs", "kvs/server"},
	"kvs/route":               {"metrics/input", "workload", "workload/size"},
	"kvs/server":              {"kvs", "kvs/certs", "kvs/cluster/cgroup", "kvs/driver", "kvs/engine", "kvs/node", "kvs/server/door", "kvs/service", "kvs/target", "kvs/wire", "metrics", "metrics/format", "metrics/input", "metrics/usage"},
	"kvs/server/door":         {"kvs", "kvs/resp", "kvs/service", "kvs/wire"},
	"kvs/server/kvsserver":    {"kvs/driver", "kvs/driver/lab", "kvs/driver/memcached", "kvs/driver/redis", "kvs/engine", "kvs/server"},
	"kvs/service":             {"kvs", "kvs/route", "metrics"},
	"kvs/target":              {"metrics/input"},
	"kvs/value":               {"workload/size"},
	"kvs/verdict":             {"kvs/route", "kvs/value", "metrics", "metrics/curve", "metrics/format", "metrics/stats", "workload", "workload/size"},
	"kvs/wire":                {"kvs", "kvs/service", "kvs/wire/message", "metrics", "metrics/input"},
	"kvs/wire/faultproxy":     {"kvs/wire/wiretest"},
	"kvs/wire/message":        {},
	"kvs/wire/wiretest":       {},
	"metrics":                 {"metrics/format", "metrics/stats"},
	"metrics/build":           {},
	"metrics/clock":           {},
	"metrics/curve":           {"metrics", "metrics/format", "metrics/stats"},
	"metrics/format":          {},
	"metrics/input":           {},
	"metrics/latency":         {"metrics", "metrics/stats"},
	"metrics/stats":           {"metrics/format"},
	"metrics/usage":           {"metrics", "metrics/build"},
	"plots":                   {"metrics", "metrics/curve", "metrics/format", "plots/chart", "plots/class", "plots/figure", "plots/folder", "plots/report"},
	"plots/artifact":          {"metrics", "metrics/format", "plots/compare", "plots/folder"},
	"plots/browsertest":       {},
	"plots/chart":             {"kvs/verdict", "metrics", "metrics/curve", "metrics/format", "metrics/latency", "metrics/stats", "plots/figure", "plots/folder"},
	"plots/class":             {"kvs/verdict", "metrics", "metrics/format", "metrics/input", "plots/chart", "plots/figure", "plots/folder", "plots/report"},
	"plots/compare":           {"kvs/verdict", "metrics", "metrics/curve", "metrics/format", "metrics/input", "metrics/stats", "plots/folder"},
	"plots/export":            {"metrics", "metrics/latency", "plots/folder"},
	"plots/figure":            {},
	"plots/folder":            {"metrics", "metrics/format", "metrics/latency"},
	"plots/folder/foldertest": {"metrics", "metrics/latency"},
	"plots/index":             {"kvs/verdict", "metrics", "metrics/curve", "metrics/format", "metrics/stats", "plots/folder", "plots/report"},
	"plots/kvsplot":           {"kvs/verdict", "metrics", "metrics/build", "metrics/format", "metrics/input", "plots", "plots/artifact", "plots/compare", "plots/export", "plots/index", "plots/serve", "plots/verify"},
	"plots/report":            {"kvs/verdict", "metrics", "metrics/curve", "metrics/format", "metrics/latency", "metrics/stats", "plots/chart", "plots/compare", "plots/figure", "plots/folder"},
	"plots/serve":             {"metrics", "metrics/latency", "plots/export", "plots/folder", "plots/index"},
	"plots/verify":            {"kvs/experiment", "kvs/verdict", "metrics", "metrics/curve", "metrics/format", "plots/folder"},
	"workload":                {"metrics/input"},
	"workload/size":           {"metrics/input", "workload"},
}

// testsMayImport says what the tests of a room may import besides: the other end of a
// connection, an oracle, a package of tests' own.
var testsMayImport = map[string][]string{
	"kvs":                    {"kvs/kvstest", "metrics"},
	"kvs/cache":              {"kvs/engine", "kvs/engine/enginetest", "kvs/kvstest", "kvs/server", "kvs/service", "kvs/wire", "kvs/wire/wiretest"},
	"kvs/client":             {"kvs", "kvs/server", "kvs/service", "kvs/wire/wiretest", "workload", "workload/size"},
	"kvs/cluster":            {"kvs/cluster/fakenode", "kvs/history", "metrics/latency", "metrics/stats"},
	"kvs/cluster/faults":     {"kvs/cluster/virtual", "metrics"},
	"kvs/cluster/mutants":    {"metrics"},
	"kvs/cluster/kvscluster": {"kvs/driver/lab/labtest", "kvs/driver/redistest", "metrics", "metrics/stats", "plots/verify"},
	"kvs/driver":             {"kvs/driver/drivertest", "kvs/server", "kvs/wire/wiretest"},
	"kvs/driver/lab":         {"kvs/driver/drivertest", "kvs/driver/lab/labtest", "kvs/wire/wiretest"},
	"kvs/driver/memcached":   {"kvs/driver/drivertest", "kvs/kvstest", "kvs/wire", "kvs/wire/wiretest"},
	"kvs/driver/redis":       {"kvs/driver/drivertest", "kvs/driver/redistest", "kvs/kvstest", "kvs/wire/wiretest"},
	"kvs/engine":             {"kvs/engine/enginetest", "kvs/kvstest", "kvs/service"},
	"kvs/engine/slab":        {"kvs/engine/enginetest", "kvs/kvstest"},
	"kvs/loadgen":            {"kvs/cache", "kvs/engine", "kvs/engine/enginetest", "kvs/server", "kvs/service", "kvs/verdict", "kvs/wire", "kvs/wire/faultproxy", "kvs/wire/wiretest", "metrics/stats"},
	"kvs/resp":               {"kvs/kvstest"},
	"kvs/rivals":             {"kvs/engine", "kvs/server/door", "kvs/service", "kvs/wire", "kvs/wire/wiretest"},
	"kvs/rivals/disk":        {"kvs/driver", "kvs/engine/enginetest", "kvs/kvstest", "kvs/route", "kvs/server", "kvs/service", "kvs/value", "metrics"},
	"kvs/rivals/etcd":        {"kvs/driver/drivertest", "kvs/driver/redistest"},
	"kvs/rivals/labs":        {"kvs/engine/enginetest"},
	"kvs/rivals/go-ycsb":     {"kvs/engine", "kvs/server", "kvs/server/door", "kvs/service", "kvs/wire", "kvs/wire/wiretest", "metrics"},
	"kvs/route":              {"kvs", "kvs/kvstest"},
	"kvs/server":             {"kvs/route", "kvs/wire/faultproxy", "metrics/stats"},
	"kvs/server/door":        {"kvs/driver", "kvs/driver/drivertest", "kvs/driver/redis", "kvs/driver/redistest", "kvs/engine", "kvs/kvstest", "kvs/wire/wiretest"},
	"kvs/service":            {"kvs/engine", "kvs/kvstest"},
	"kvs/value":              {"kvs", "kvs/route"},
	"kvs/wire":               {"kvs/certs", "kvs/engine", "kvs/wire/faultproxy", "kvs/wire/wiretest"},
	"kvs/wire/faultproxy":    {"kvs/wire/wiretest"},
	"metrics/input":          {"metrics/format"},
	"plots":                  {"plots/folder/foldertest"},
	"plots/artifact":         {"plots/folder/foldertest"},
	"plots/chart":            {"plots/folder/foldertest"},
	"plots/class":            {"plots/browsertest", "plots/folder/foldertest"},
	"plots/compare":          {"plots/folder/foldertest"},
	"plots/export":           {"plots/folder/foldertest"},
	"plots/folder":           {"plots/folder/foldertest"},
	"plots/index":            {"plots/folder/foldertest"},
	"plots/report":           {"plots/browsertest", "plots/folder/foldertest"},
	"plots/serve":            {"plots", "plots/browsertest", "plots/folder/foldertest"},
	"plots/verify":           {"plots/folder/foldertest"},
	"workload/size":          {"kvs", "kvs/route", "kvs/value"},
}

// TestImportsPointOneWay holds the imports of every room against mayImport, and those of
// its tests against testsMayImport too.
func TestImportsPointOneWay(t *testing.T) {
	var out []byte
	for _, folder := range []string{".", "kvs/rivals"} { // the modules
		cmd := exec.Command("go", "list", "-C", folder, "-e", "-pgo=off", "-json=ImportPath,Imports,TestImports,XTestImports", "./...")
		cmd.Env = append(os.Environ(), "GOPROXY=off") // the second's dependencies may be missing
		packages, err := cmd.Output()
		if err != nil {
			t.Fatalf("go list in %s: %v", folder, err)
		}
		out = append(out, packages...)
	}
	seen := map[string]bool{}
	for dec := json.NewDecoder(bytes.NewReader(out)); ; {
		var p struct {
			ImportPath                         string
			Imports, TestImports, XTestImports []string
		}
		if err := dec.Decode(&p); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatalf("read go list's output: %v", err)
		}
		room, ok := strings.CutPrefix(p.ImportPath, module+"/")
		if !ok {
			continue // this folder: tests only
		}
		seen[room] = true
		allowed, ok := mayImport[room]
		if !ok {
			t.Errorf("%s is a room that the house does not have: add it to mayImport or move it", room)
		}
		checkImports(t, room, p.Imports, allowed)
		checkImports(t, room+"'s tests", slices.Concat(p.TestImports, p.XTestImports), slices.Concat([]string{room}, allowed, testsMayImport[room]))
	}
	for _, table := range []map[string][]string{mayImport, testsMayImport} {
		for room := range table {
			if !seen[room] {
				t.Errorf("%s does not exist: remove it from the tables", room)
			}
		}
	}
}

func checkImports(t *testing.T, room string, paths, allowed []string) {
	t.Helper()
	for _, path := range paths {
		if other, ours := strings.CutPrefix(path, module+"/"); ours && !slices.Contains(allowed, other) {
			t.Errorf("%s imports %s; it may import %v", room, other, allowed)
		}
	}
}

// TestNoDebugPages: no program of ours has Go's debug pages, which would be
// served to every client as soon as a program listens for HTTP.
func TestNoDebugPages(t *testing.T) {
	out, err := exec.Command("go", "list", "-pgo=off", "-deps", "./...").Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	packages := strings.Fields(string(out))
	if !slices.Contains(packages, "net/rpc") {
		t.Fatal("go list does not list net/rpc, on which the store is built")
	}
	for _, page := range []string{"net/http/pprof", "expvar"} {
		if slices.Contains(packages, page) {
			t.Errorf("%s is linked into a program", page)
		}
	}
}
