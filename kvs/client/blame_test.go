package client

import (
	"errors"
	"fmt"
	"testing"

	"kvlab/kvs/loadgen"
	"kvlab/kvs/node"
	"kvlab/kvs/wire"
)

// The launcher is told which errors lie with a server, and of which kind.
func TestBlame(t *testing.T) {
	restarted := &wire.RestartedError{Node: "node0", Was: "A", Is: "B"}
	late := &loadgen.CallError{Server: "node3", Err: fmt.Errorf("%w: no reply within 1s", wire.ErrTimeout)}
	own := errors.New("no space left on device")
	for _, test := range []struct {
		err  error
		want node.PeerError
	}{
		{fmt.Errorf("load: %w", &loadgen.CallError{Server: "node0", Err: restarted}), node.PeerError{Node: "node0", Err: restarted, Lost: true}},
		{fmt.Errorf("connect to server 1 of 2: %w", restarted), node.PeerError{Node: "node0", Err: restarted, Lost: true}},
		{late, node.PeerError{Node: "node3", Err: late}},
		{own, node.PeerError{}},
	} {
		err := blame(test.err)
		var peer node.PeerError
		if errors.As(err, &peer); peer != test.want || !errors.Is(err, test.err) && peer.Err != restarted {
			t.Errorf("%v is blamed as %+v, want %+v", test.err, peer, test.want)
		}
	}
}
