package service

import (
	"strings"
	"testing"

	"kvlab/kvs/route"
)

// Two tables of the balanced router, for two workloads, have two digests; the same
// twice has one.
func TestOwnersDigestTellsTablesApart(t *testing.T) {
	digest := func(hot string) string {
		router, err := route.New("balanced", 4, func(yield func(hash, share uint64) bool) {
			yield(route.Hash([]byte(hot)), route.WholeShare/5)
		})
		if err != nil {
			t.Fatal(err)
		}
		return route.Fingerprint(router)
	}
	one, again, other := digest("a"), digest("a"), digest("bcd")
	if one != again || one == other {
		t.Errorf("digests %s, %s and %s", one, again, other)
	}
}

// Clients that are there at a time must believe the same, and what the server was
// told; when all have left, others may believe something else.
func TestAgree(t *testing.T) {
	first := Placement{Server: 0, Servers: 2, Router: "fnv", Owners: "x"}
	other := func(change func(*Placement)) Placement {
		s := first
		change(&s)
		return s
	}
	for _, test := range []struct {
		name   string
		told   Placement
		second Placement
		want   string // in the error
	}{
		{"alike", Placement{}, first, ""},
		{"alike, and as told", Placement{Server: 0, Servers: 2}, first, ""},
		{"says nothing", Placement{}, Placement{}, ""},
		{"another order", Placement{}, other(func(s *Placement) { s.Server = 1 }), "the client one expects server 0 of 2 of router fnv (x), but the client two expects server 1 of 2 of router fnv (x): all need the same -hosts"},
		{"another number", Placement{}, other(func(s *Placement) { s.Servers = 3 }), "the client two expects server 0 of 3"},
		{"another router", Placement{}, other(func(s *Placement) { s.Router = "seed" }), "the client two expects server 0 of 2 of router seed (x)"},
		{"another table", Placement{}, other(func(s *Placement) { s.Owners = "y" }), "of router fnv (y)"},
		{"not as told", Placement{Server: 0, Servers: 2}, other(func(s *Placement) { s.Server = 1 }), "it is server 0 of 2, but the client (two) expects server 1 of 2"},
	} {
		t.Run(test.name, func(t *testing.T) {
			s := New(nil)
			s.Place(test.told)
			leave, err := s.CheckPlacement("one", first)
			if err != nil {
				t.Fatal(err)
			}
			left, err := s.CheckPlacement("two", test.second)
			if test.want == "" {
				if err != nil {
					t.Fatal(err)
				}
				left()
			} else if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Fatalf("error %v, want %q", err, test.want)
			}
			leave()
			if _, err := s.CheckPlacement("two", test.second); (err != nil) != test.told.conflicts(test.second) {
				t.Errorf("alone: %v", err)
			}
		})
	}
}
