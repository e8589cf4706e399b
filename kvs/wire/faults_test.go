package wire

import (
	"testing"

	"kvlab/internal/faultproxy"
	"kvlab/kvs"
	"kvlab/kvs/engine"
)

// handshakeSize returns how many bytes a client sends before its first frame.
func handshakeSize(t *testing.T, options Options) int64 {
	t.Helper()
	size := 0
	for _, m := range []message{
		{Protocol: protocol, Values: kvs.ValueFormat, Nonce: newNonce(), Hello: options.Hello},
		{Proof: options.proof("client")},
	} {
		whole, err := seal(m)
		if err != nil {
			t.Fatal(err)
		}
		size += len(whole)
	}
	return int64(size)
}

// A whole request that arrives twice is applied twice: the server's count shows
// it, which the launcher holds against the client's. The second reply belongs to
// no call, and the calls after it get their own.
func TestRequestTwice(t *testing.T) {
	for _, crc := range []bool{false, true} {
		options := Options{Hello: Hello{Node: "client0", Codec: "binary", Features: Features{CRC: crc}}}
		s := startServer(t, Options{Hello: Hello{Node: "server0", Codec: "binary"}}, engine.NewMutex())
		var batch kvs.Batch
		batch.Append(kvs.Put, []byte("key"), []byte("value"))
		twice := faultproxy.Fault{Kind: faultproxy.Duplicate, At: handshakeSize(t, options) + int64(len(batch.Frame())), Len: len(batch.Frame())}
		proxy := faultproxy.Start(t, s.addr, func(int) []faultproxy.Fault { return []faultproxy.Fault{twice} })
		client := (&server{addr: proxy.Addr()}).dial(t, options)
		call := kvs.Call{Batch: &batch, Reply: new(kvs.Reply)}
		for i := range 3 {
			client.Send(&call)
			if err := client.Wait(&call); err != nil {
				t.Errorf("-crc=%t: call %d: %v", crc, i, err)
			}
		}
		client.Close()
		if err := s.end(t); err != nil {
			t.Errorf("-crc=%t: the server's end: %v", crc, err)
		}
		if puts := s.service.Counts()["client0"].Puts; puts != 4 || len(proxy.Struck()) != 1 {
			t.Errorf("-crc=%t: %d puts were applied of 3 calls, want 4; struck %v", crc, puts, proxy.Struck())
		}
	}
}
