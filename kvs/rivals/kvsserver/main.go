// Command kvsserver is kvs/server's program with the rivals' drivers and engines.
package main

import (
	"os"

	"kvlab/kvs/driver"
	"kvlab/kvs/driver/lab"
	"kvlab/kvs/driver/memcached"
	"kvlab/kvs/driver/redis"
	"kvlab/kvs/engine"
	"kvlab/kvs/rivals/disk"
	"kvlab/kvs/rivals/etcd"
	"kvlab/kvs/rivals/labs"
	"kvlab/kvs/server"
)

func main() {
	stores := []driver.Row{redis.Row, redis.ClusterRow, memcached.Row, lab.Row, etcd.Row}
	program := server.Program(stores, append([]engine.Row{disk.Pebble, disk.Badger, disk.BadgerFlin}, labs.Rows...)...)
	os.Exit(program.Main(os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}
