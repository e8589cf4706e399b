package metrics

import "testing"

func TestLabString(t *testing.T) {
	for want, l := range map[string]*Lab{
		"": nil,
		"virtual lab, 2 hosts on one machine, links not shaped":  {Hosts: 2},
		"virtual lab, 8 hosts on one machine, links 1 Gb/s":      {Hosts: 8, LinkBitsPerS: 1e9},
		"virtual lab, 8 hosts on one machine, links 2.5 Gb/s":    {Hosts: 8, LinkBitsPerS: 25e8},
		"virtual lab, 64 hosts on one machine, links 250.5 Mb/s": {Hosts: 64, LinkBitsPerS: 2505e5},
	} {
		if got := l.String(); got != want {
			t.Errorf("%+v: %q, want %q", l, got, want)
		}
	}
}
