package server_test

import (
	"testing"

	"kvlab/kvs/server/modeltest"
)

func TestModels(t *testing.T) {
	modeltest.Run(t, "conn", 0)
	modeltest.Run(t, "pool:2", 2)
	modeltest.Run(t, "pool:2,1", 2)
}
