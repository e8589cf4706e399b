// Command kvsserver is one server of the store.
package main

import (
	"os"

	"kvlab/extra/door"
	"kvlab/extra/labserver"
	"kvlab/extra/profile/take"
	"kvlab/extra/system"
	"kvlab/extra/variants/codecs"
	"kvlab/extra/variants/engines"
	"kvlab/extra/variants/models"
	"kvlab/kvs/driver"
	"kvlab/kvs/driver/lab"
	"kvlab/kvs/driver/memcached"
	"kvlab/kvs/driver/redis"
	"kvlab/kvs/engine"
	"kvlab/kvs/server"
	"kvlab/kvs/wire"
)

func main() {
	stores := []driver.Row{
		redis.Row, redis.ClusterRow, memcached.Row, lab.Row, driver.Rival("etcd"),
		system.Driver,
	}
	engine.Link(
		engines.Rows,
		[]engine.Row{
			engine.Rival("pebble", "on disk: CockroachDB's Pebble, an LSM tree"),
			engine.Rival("badger", "on disk: Dgraph's Badger, an LSM tree, one write batch a call"),
			engine.Rival("badger-flin", "on disk: Badger as Flin uses it, one transaction an operation"),
		},
	)
	wire.Link(
		codecs.Rows,
	)
	server.LinkModels(
		models.Rows,
	)
	server.LinkProfiler(take.Store)
	program := server.Program(stores,
		door.Row,
		labserver.Row,
	)
	os.Exit(program.Main(os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}
