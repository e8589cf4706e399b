// Command kvsserver is kvs/server's program with the rivals' drivers and engines.
package main

import (
	"os"

	"kvlab/extra/rivals/disk"
	"kvlab/extra/rivals/etcd"
	"kvlab/extra/rivals/labs"
	"kvlab/kvs/driver"
	"kvlab/kvs/driver/lab"
	"kvlab/kvs/driver/memcached"
	"kvlab/kvs/driver/redis"
	"kvlab/kvs/engine"
	"kvlab/kvs/server"
)

func main() {
	stores := []driver.Row{redis.Row, redis.ClusterRow, memcached.Row, lab.Row, etcd.Row}
	program := server.Program(stores, append([]engine.Row{disk.Pebble, disk.Badger, disk.BadgerFlin}, labs.Rows...)...)
	os.Exit(program.Main(os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}
