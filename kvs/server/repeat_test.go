package server

import (
	"net"
	"testing"

	"kvlab/kvs"
	"kvlab/kvs/engine"
	"kvlab/kvs/service"
	"kvlab/kvs/wire"
)

// With -repeat the engine sees the first call of a size; the others have its answer.
func TestRepeat(t *testing.T) {
	socket, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer socket.Close()
	svc := service.New(engine.NewMutex())
	served := make(chan error, 1)
	go func() {
		conn, err := socket.Accept()
		if err == nil {
			err = Serve(conn, wire.Options{Hello: wire.Hello{Node: "server", Codec: "binary"}}, svc, repeating{})
		}
		served <- err
	}()
	client, _, err := wire.Dial(t.Context(), socket.Addr().String(), wire.Options{Hello: wire.Hello{Node: "client", Codec: "binary"}})
	if err != nil {
		t.Fatal(err)
	}
	call := func(b *kvs.Batch) (results []kvs.Result) {
		t.Helper()
		var reply kvs.Reply
		c := kvs.Call{Batch: b, Reply: &reply}
		client.Send(&c)
		if err := client.Wait(&c); err != nil {
			t.Fatal(err)
		}
		cursor := reply.Results()
		for range reply.Len() {
			r, err := cursor.Next()
			if err != nil {
				t.Fatal(err)
			}
			results = append(results, kvs.Result{Value: append([]byte(nil), r.Value...), Found: r.Found, Read: r.Read})
		}
		reply.Free()
		return results
	}
	var put, get, missing kvs.Batch
	put.Append(kvs.Put, []byte("key"), []byte("value"))
	get.Get([]byte("key"))
	missing.Get([]byte("yek")) // as long as get
	call(&put)
	for _, b := range []*kvs.Batch{&get, &missing, &get} {
		if r := call(b); len(r) != 1 || !r[0].Found || string(r[0].Value) != "value" {
			t.Errorf("results %+v, want the first reply's", r)
		}
	}
	if err := client.Close(); err != nil {
		t.Fatal(err)
	}
	if err := <-served; err != nil {
		t.Fatal(err)
	}
	if line := (repeating{}).Stop(); line != "" {
		t.Errorf("the model's line for the log is %q, want none", line)
	}
	if got := svc.Counts()["client"]; got.Gets != 1 || got.Puts != 1 {
		t.Errorf("the engine's counts are %+v, want one get and one put", got)
	}
}
