// Command kvsserver is one server of the store.
package main

import (
	"os"

	"kvlab/kvs/driver"
	"kvlab/kvs/driver/lab"
	"kvlab/kvs/driver/memcached"
	"kvlab/kvs/driver/redis"
	"kvlab/kvs/engine"
	"kvlab/kvs/server"
)

func main() {
	stores := []driver.Row{redis.Row, redis.ClusterRow, memcached.Row, lab.Row, driver.Rival("etcd")}
	program := server.Program(stores,
		engine.Rival("pebble", "on disk: CockroachDB's Pebble, an LSM tree"),
		engine.Rival("badger", "on disk: Dgraph's Badger, an LSM tree, one write batch a call"),
		engine.Rival("badger-flin", "on disk: Badger as Flin uses it, one transaction an operation"),
		engine.Rival("labs-plain", "a plain sync.Map, as labs-grouped and the others have it"),
		engine.Rival("labs-grouped", "a plain sync.Map, consecutive operations of a kind together"),
		engine.Rival("labs-locked", "a plain sync.Map, each operation counted behind a Mutex"),
		engine.Rival("labs-atomic", "a plain sync.Map, each operation counted by an atomic counter"),
		engine.Rival("labs-goroutines", "a plain sync.Map, a goroutine for each key of 256 operations"))
	os.Exit(program.Main(os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}
