package wire

import (
	"context"
	"runtime/debug"
	"strings"
	"testing"

	"kvlab/kvs/engine"
)

func TestBuildOf(t *testing.T) {
	with := func(settings ...debug.BuildSetting) *debug.BuildInfo { return &debug.BuildInfo{Settings: settings} }
	commit := debug.BuildSetting{Key: "vcs.revision", Value: "abc"}
	tests := []struct {
		info *debug.BuildInfo
		want string
	}{
		{with(), ""},
		{with(commit, debug.BuildSetting{Key: "vcs.modified", Value: "false"}), "abc"},
		{with(commit, debug.BuildSetting{Key: "vcs.modified", Value: "true"}), "abc-dirty"},
		{with(debug.BuildSetting{Key: "vcs.modified", Value: "true"}), ""},
	}
	for _, test := range tests {
		if got := buildOf(test.info, true); got != test.want {
			t.Errorf("%v: %q, want %q", test.info.Settings, got, test.want)
		}
	}
	if got := buildOf(nil, false); got != "" {
		t.Errorf("no information: %q", got)
	}
}

// Programs of two commits refuse each other, and those that do not know theirs
// do not.
func TestBuildsDiffer(t *testing.T) {
	own := build
	t.Cleanup(func() { build = own }) // after the server's
	id := Identity{Node: "node0", Codec: "binary"}
	for _, test := range []struct{ client, server, want string }{
		{"", "abc", ""}, {"abc", "", ""}, {"abc", "abc", ""},
		{"abc", "abc-dirty", "the server (node0) was built from commit abc-dirty, the client from abc"},
	} {
		build = test.server
		why := id.objection(hello{Protocol: protocol, Codec: "binary", Nonce: newNonce(), Build: test.client})
		if test.want == "" && why != "" || !strings.HasPrefix(why, test.want) {
			t.Errorf("client %q, server %q: %q, want %q", test.client, test.server, why, test.want)
		}
	}
	build = "abc"
	s := startServer(t, id, engine.NewMutex())
	if client, _, err := Dial(context.Background(), s.addr, id); err != nil {
		t.Errorf("one build: %v", err)
	} else {
		client.Close()
	}
}
