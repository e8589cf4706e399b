// Command kvsclient is one client node: it loads its records, drives the
// workload and checks every reply.
package main

import (
	"os"

	"kvlab/extra/system"
	"kvlab/extra/variants/codecs"
	"kvlab/extra/variants/engines"
	"kvlab/extra/variants/routers"
	"kvlab/kvs/client"
	"kvlab/kvs/driver"
	"kvlab/kvs/driver/lab"
	"kvlab/kvs/driver/memcached"
	"kvlab/kvs/driver/redis"
	"kvlab/kvs/engine"
	"kvlab/kvs/route"
	"kvlab/kvs/wire"
)

func main() {
	engine.Link(
		engines.Rows,
	)
	wire.Link(
		codecs.Rows,
	)
	route.Link(
		routers.Rows,
	)
	client.LinkHost(system.Parse)
	os.Exit(client.Program(redis.Row, redis.ClusterRow, memcached.Row, lab.Row, driver.Rival("etcd")).Main(os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}
