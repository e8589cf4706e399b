//go:build !race

package wire

import (
	"fmt"
	"io"
	"testing"

	"kvlab/kvs"
	"kvlab/kvs/engine"
)

// TestCallAllocations counts what a call of Gets allocates, however many they
// are: on the server's side nothing, and with the client's one thing, net/rpc's
// own rpc.Call. Under TLS crypto/tls allocates for what it reads, once or twice
// for a record of at most 16 KiB. The race detector would empty pools.
func TestCallAllocations(t *testing.T) {
	for _, size := range []int{1, 1000} {
		for _, options := range []Options{binaryOptions, {Hello: Hello{Node: "node0", Codec: "binary", Features: Features{Dedup: true, CRC: true}}}, encryptedOptions(t)} {
			s := startServer(t, options, engine.NewMutex())
			client := s.dial(t, options)
			var load, batch kvs.Batch
			for i := range size {
				key := fmt.Appendf(nil, "user%d", i)
				load.Append(kvs.Put, key, make([]byte, 128))
				batch.Get(key)
			}
			if _, err := call(client, &load); err != nil {
				t.Fatal(err)
			}
			one := kvs.Call{Batch: &batch, Reply: new(kvs.Reply)}
			both := testing.AllocsPerRun(500, func() {
				client.Send(&one)
				if err := client.Wait(&one); err != nil {
					t.Error(err)
				}
				one.Reply.Free()
			})
			server, records := s.allocations(t, options, &batch), 0
			if options.TLS != nil {
				records = 2 + (batch.Size()+size*(2+128))>>14
			}
			if server > float64(2*records) || both > float64(1+2*records) {
				t.Errorf("a call of %d operations, %+v, allocates %v times in the server and %v times in all, want %d and %d (for %d records of TLS)",
					size, options.Features, server, both, 2*records, 1+2*records, records)
			}
		}
	}
}

// allocations returns how often the server alone allocates for a call: what sends the
// batch and takes the reply here does so without.
func (s *server) allocations(t *testing.T, options Options, batch *kvs.Batch) float64 {
	t.Helper()
	conn := s.rawConn(t, options)
	frame := sealed(batch.Frame()[headerLen:], 1, uint32(batch.Len()), options.CRC)
	reply := make([]byte, headerLen+batch.Len()*(2+128))
	return testing.AllocsPerRun(500, func() {
		if _, err := conn.Write(frame); err != nil {
			t.Error(err)
		}
		if _, err := io.ReadFull(conn, reply[:headerLen]); err != nil || reply[4] != byte(replyFrame) {
			t.Errorf("a frame of type %d, %v", reply[4], err)
		}
		if _, err := io.ReadFull(conn, reply[:bodySize(reply)]); err != nil {
			t.Error(err)
		}
	})
}
