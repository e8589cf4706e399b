// Command kvsclient is kvs/client's program with the rivals' drivers.
package main

import (
	"os"

	"kvlab/extra/rivals/etcd"
	"kvlab/extra/variants/codecs"
	"kvlab/extra/variants/engines"
	"kvlab/extra/variants/routers"
	"kvlab/kvs/client"
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
	os.Exit(client.Program(redis.Row, redis.ClusterRow, memcached.Row, lab.Row, etcd.Row).Main(os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}
