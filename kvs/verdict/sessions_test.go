package verdict

import (
	"strings"
	"testing"

	"kvlab/metrics"
)

// The servers say how many connections a client has, what each carried and by which protocol.
func TestSessions(t *testing.T) {
	type part struct {
		flags    metrics.Settings
		peer     *metrics.PeerCounts // of the server
		sessions *metrics.Sessions   // likewise: lanes of 10002 and 10000 operations
		workers  *[]metrics.WorkerAccount
	}
	eight := func(p part) {
		*p.workers = append(*p.workers, make([]metrics.WorkerAccount, 6)...)
		for i := range *p.workers {
			(*p.workers)[i].Verified = 100
		}
		p.flags["connections"], p.sessions.Ops = "8", []uint64{100, 100, 100, 100, 100, 100, 100, 100}
	}
	for _, test := range []struct {
		name  string
		spoil func(p part)
		want  string // "" for VALID
	}{
		{"nothing", func(part) {}, ""},
		{"-connections 2", func(p part) { p.flags["connections"] = "2" }, ""},
		{"all workers share one", func(p part) { p.sessions.Ops = []uint64{20_002} }, ""},
		{"8 of 8", eight, ""},
		{"1 of 8", func(p part) { eight(p); p.sessions.Ops = []uint64{800} }, "1 connections of the client each, -connections is 8"},
		{"8 of 8, of which 7 carry nothing", func(p part) { eight(p); p.sessions.Ops = []uint64{800, 0, 0, 0, 0, 0, 0, 0} }, "connection 0 carried 800 operations, the workers that have it verified 100"},
		{"8 of 8, one of which another worker uses", func(p part) { eight(p); p.sessions.Ops[3], p.sessions.Ops[5] = 0, 200 }, "connection 3 carried 0"},
		{"three by default", func(p part) { p.sessions.Ops = []uint64{10_000, 10_000, 2} }, "3 connections of the client each, its 2 workers have 2 or 1"},
		{"-crc", func(p part) { p.flags["crc"], p.sessions.CRC = "true", true }, ""},
		{"no -crc", func(p part) { p.flags["crc"] = "true" }, "-codec binary, its flags ask for -codec binary -crc"},
		{"no -crc on one connection", func(p part) {
			p.flags["crc"] = "true"
			p.sessions.Ops = []uint64{10_002, 0}
			p.peer.Sessions = append(p.peer.Sessions, *p.sessions)
			p.peer.Sessions[1].CRC, p.peer.Sessions[1].Ops = true, []uint64{0, 10_000}
		}, "-codec binary, its flags ask for -codec binary -crc"},
		{"another codec", func(p part) { p.sessions.Codec = "gob" }, "had -codec gob"},
		{"-dedup that nobody asked for", func(p part) { p.sessions.Dedup = true }, "-codec binary -dedup"},
		{"a cache", func(p part) { p.flags["cache"], p.sessions.Dedup, p.sessions.Cache = "all", true, true }, ""},
		{"no -tls", func(p part) { p.flags["tls"] = "true" }, "-codec binary -tls"},
		{"no -retry", func(p part) { p.flags["retry"] = "true" }, "-codec binary -retry"},
		{"no account", func(p part) { p.peer.Sessions = nil }, "no server gives an account of the client's connections"},
	} {
		run := witnessed()
		server, client := run.Nodes[0].Summary, run.Nodes[1].Summary
		test.spoil(part{run.Workload, &server.Peers[0], &server.Peers[0].Sessions[0], &client.Workers})
		for i, s := range server.Peers[0].Sessions {
			server.Peers[0].Sessions[i].Keys = make([]uint64, len(s.Ops))
		}
		if v := run.made(rows("sessions")); v.Valid != (test.want == "") || !strings.Contains(v.Reason, test.want) {
			t.Errorf("%s: %s, want %q", test.name, v, test.want)
		}
	}
}
