// Command kvsserver is one server of the store.
package main

import (
	"os"

	"kvlab/kvs/driver"
	"kvlab/kvs/driver/lab"
	"kvlab/kvs/driver/memcached"
	"kvlab/kvs/driver/redis"
	"kvlab/kvs/server"
)

func main() {
	os.Exit(server.Program(redis.Row, redis.ClusterRow, memcached.Row, lab.Row, driver.Rival("etcd")).Main(os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}
