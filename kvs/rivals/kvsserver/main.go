// Command kvsserver is kvs/server's program with the rivals' drivers.
package main

import (
	"os"

	"kvlab/kvs/driver/lab"
	"kvlab/kvs/driver/memcached"
	"kvlab/kvs/driver/redis"
	"kvlab/kvs/rivals/etcd"
	"kvlab/kvs/server"
)

func main() {
	os.Exit(server.Program(redis.Row, redis.ClusterRow, memcached.Row, lab.Row, etcd.Row).Main(os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}
