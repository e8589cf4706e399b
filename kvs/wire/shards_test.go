package wire

import (
	"context"
	"errors"
	"strings"
	"testing"

	"kvlab/kvs/engine"
	"kvlab/kvs/service"
)

// A client that takes a server for another than it is, or than the others do, is
// refused, and both sides name the two views in one line. A stranger's belief
// counts for nothing, and a client's no longer than it is there.
func TestShardsAreAgreed(t *testing.T) {
	for _, told := range []service.Placement{{}, {Server: 0, Servers: 2}} {
		s := startServer(t, binaryOptions, engine.NewMutex())
		s.service.Place(told)
		as := func(node string, server int, token string) (*Client, error) {
			options := binaryOptions
			options.Node, options.Token, options.Placement = node, token, service.Placement{Server: server, Servers: 2, Router: "fnv", Owners: "x"}
			client, _, err := Dial(context.Background(), s.addr, options)
			return client, err
		}
		if _, err := as("stranger", 1, "a guess"); !errors.Is(err, ErrRefused) {
			t.Errorf("a stranger: %v", err)
		}
		_ = s.end(t)
		first, err := as("node1", 0, "secret")
		if err != nil {
			t.Fatal(err)
		}
		_, err = as("node2", 1, "secret")
		served := s.end(t)
		for side, err := range map[string]error{"client": err, "server": served} {
			if !errors.Is(err, ErrRefused) || strings.Contains(err.Error(), "\n") || !strings.Contains(err.Error(), "server node0") ||
				!strings.Contains(err.Error(), "server 0 of 2") || !strings.Contains(err.Error(), "server 1 of 2") || !strings.Contains(err.Error(), "node2") {
				t.Errorf("told %v: the %s says %v", told, side, err)
			}
		}
		first.Close()
		if err := s.end(t); err != nil {
			t.Error(err)
		}
		second, err := as("node2", 1, "secret")
		if refused := errors.Is(err, ErrRefused); refused != (told.Servers > 0) {
			t.Errorf("told %v: the second client alone: %v", told, err)
		}
		if err == nil {
			second.Close()
		}
	}
}
