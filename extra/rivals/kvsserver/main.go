// Command kvsserver is kvs/server's program with the rivals' drivers and engines.
package main

import (
	"os"

	"kvlab/extra/door"
	"kvlab/extra/labserver"
	"kvlab/extra/profile/take"
	"kvlab/extra/rivals/disk"
	"kvlab/extra/rivals/etcd"
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
	stores := []driver.Row{redis.Row, redis.ClusterRow, memcached.Row, lab.Row, etcd.Row}
	engine.Link(engines.Rows, []engine.Row{disk.Pebble, disk.Badger, disk.BadgerFlin})
	wire.Link(codecs.Rows)
	server.LinkModels(models.Rows)
	server.LinkProfiler(take.Store)
	os.Exit(server.Program(stores, door.Row, labserver.Row).Main(os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}
