package service_test

import (
	"bytes"
	"fmt"
	"reflect"
	"testing"

	"kvlab/internal/kvstest"
	"kvlab/kvs"
	"kvlab/kvs/engine"
	"kvlab/kvs/service"
)

// TestServiceDedup applies the same batches through a plain and a
// deduplicating connection.
func TestServiceDedup(t *testing.T) {
	var batch kvs.Batch
	for i := range 3000 {
		key := fmt.Appendf(nil, "k%d", i%50)
		if i < 50 || i%7 == 0 {
			batch.Append(kvs.Put, key, bytes.Repeat(fmt.Appendf(nil, "%08d", i%50), 2+i%2))
		} else {
			batch.Get(key)
		}
	}
	var results [2][]kvs.Result
	var size [2]int
	for i := range results {
		session := service.New(engine.NewMutex()).Open("peer")
		session.Dedup = i == 1
		var reply kvs.Reply
		if err := session.BatchPutGet(&batch, &reply); err != nil {
			t.Fatal(err)
		}
		var err error
		if results[i], err = kvstest.DecodeReply(&reply); err != nil {
			t.Fatal(err)
		}
		size[i] = len(reply.Frame())
	}
	if !reflect.DeepEqual(results[0], results[1]) {
		t.Error("the deduplicated reply has other results than the plain one")
	}
	if size[1] > size[0]/2 {
		t.Errorf("%d bytes deduplicated, %d plain", size[1], size[0])
	}
}
