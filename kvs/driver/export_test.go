package driver

import (
	"kvlab/kvs"
	"kvlab/kvs/service"
)

// OpenEngine returns the driver of InProcess over an engine.
func OpenEngine(e kvs.Engine) Driver { return &direct{txn: true, engine: e, service: service.New(e)} }
