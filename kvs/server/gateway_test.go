package server

import (
	"errors"
	"fmt"
	"io"
	"net"
	"testing"

	"kvlab/kvs"
	"kvlab/kvs/node"
	"kvlab/kvs/service"
	"kvlab/metrics"
)

// beside has a gateway of which a client sends the password and a key, each on a line. It
// gets the key's value.
var beside = []Gateway{{Protocol: "line", Flag: "beside", Usage: "`host:port` of a line's gateway", Open: func(s *service.Service, o GatewayOptions) (func(net.Conn) error, func(*metrics.Summary)) {
	return func(conn net.Conn) error {
		defer conn.Close()
		if !o.ThirdParty {
			return errors.New("the clients are the run's")
		}
		client := s.OpenThirdParty()
		defer client.Close()
		var password, key string
		if _, err := fmt.Fscanln(conn, &password); err != nil || password != o.Password {
			_, err = io.WriteString(conn, "refused")
			return err
		}
		if _, err := fmt.Fscanln(conn, &key); err != nil {
			return err
		}
		var reply kvs.Reply
		ops := []kvs.Op{{Kind: kvs.Get, Key: []byte(key)}}
		if err := client.Apply(ops, &reply); err != nil {
			return err
		}
		_, err := fmt.Fprintf(conn, "%d of %s: %v", reply.Len(), o.Engine, o.Check([]kvs.Kind{kvs.Scan}))
		return err
	}, nil
}}}

// Under a launcher the clients of a gateway are a third party's: they need the token, and are
// counted apart.
func TestGatewayUnderLauncher(t *testing.T) {
	port := free(t)
	s := leadProgram(t, Program(nil, beside...), "-node", "node0", "-port", "0", "-engine", "slab", "-beside", "127.0.0.1:"+port)
	s.next(t, is(node.Ready))
	for said, want := range map[string]string{"x\nk\n": "refused", "secret\nk\n": "1 of slab: -engine slab has no scan: want -engine btree"} {
		conn, err := net.Dial("tcp", "127.0.0.1:"+port)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(conn, said); err != nil {
			t.Fatal(err)
		}
		if got, err := io.ReadAll(conn); err != nil && want != "refused" || string(got) != want {
			t.Errorf("%q: %q, %v; want %q", said, got, err, want)
		}
		conn.Close()
	}
	s.command(t, node.Command{Do: node.Stop})
	summary := s.next(t, func(e node.Event) bool { return e.Record != nil && e.Record.Summary != nil }).Record.Summary
	third := metrics.Counts{Gets: 1, Misses: 1, Calls: 1}
	if summary.Strangers == nil || *summary.Strangers != third || summary.Total.Ops() != 0 || len(summary.Peers) != 0 {
		t.Errorf("third parties %+v, total %+v, peers %+v", summary.Strangers, summary.Total, summary.Peers)
	}
	s.next(t, is(node.Done))
	<-s.exited
}
