package server

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"kvlab/kvs"
	"kvlab/kvs/control"
	"kvlab/kvs/wire"
	"kvlab/metrics"
)

// A server prepares once for what all clients of a run say, and what one of them
// promises falsely does not fill its memory: it serves on.
func TestPrepare(t *testing.T) {
	used, err := metrics.ResidentBytes()
	if err != nil {
		t.Fatal(err)
	}
	s := lead(t, "-node", "node0", "-port", "0", "-engine", "slab", "-max-memory", fmt.Sprintf("%dMiB", used>>20+160))
	addr := s.next(t, is(control.Ready)).Addr
	s.command(t, control.Command{Do: control.Phase, Phase: "load"})
	truth := kvs.Expected{Records: 100_000, KeyBytes: 6, ValueBytes: 128}
	for i, x := range []kvs.Expected{truth, truth, {Records: 1 << 62, KeyBytes: 20, ValueBytes: 128}} {
		client, server, err := wire.Dial(context.Background(), addr, wire.Identity{Node: "node1", Codec: "binary", Token: "secret", Expected: x})
		if err != nil || server.Prepared <= 0 {
			t.Fatalf("client %d: prepared in %v, %v", i, server.Prepared, err)
		}
		defer client.Close()
		put(t, client, fmt.Sprint("key", i))
	}
	var prepared []string
	s.next(t, func(e control.Event) bool {
		if strings.HasPrefix(e.Text, "prepared in ") {
			prepared = append(prepared, e.Text)
		}
		return len(prepared) == 2 && intervalOf("load")(e) // memory is looked at often before
	})
	s.command(t, control.Command{Do: control.Stop})
	if status := <-s.exited; status != 0 {
		t.Fatalf("status %d: %s", status, &s.stderr)
	}
	if !strings.HasSuffix(prepared[0], "room for 100000 of the 100000 records of 134 bytes that are to come") ||
		!strings.HasSuffix(prepared[1], " of the 4611686018427387904 records of 148 bytes that are to come") {
		t.Errorf("the log says %q", prepared)
	}
}
