package cli_test

import (
	"maps"
	"slices"
	"testing"

	"kvlab/internal/cli"
)

func TestHidePasswords(t *testing.T) {
	for _, test := range []struct {
		words, want []string
		passwords   map[string]string
	}{
		{[]string{"--target", "redis://u:p%40ss@h:1,h2:2?tls=on"}, []string{"--target", "redis://u:***@h:1,h2:2?tls=on"}, map[string]string{"***": "p@ss"}},
		{[]string{"--target=rediss://:a@b/c@h/0"}, []string{"--target=rediss://:***@h/0"}, map[string]string{"***": "a@b/c"}},
		{[]string{"unix://u:x@/run/r.sock"}, []string{"unix://u:***@/run/r.sock"}, map[string]string{"***": "x"}},
		{[]string{"memcached://h?password=x%26y&counts=none"}, []string{"memcached://h?password=***&counts=none"}, map[string]string{"***": "x&y"}},
		{[]string{"target=redis://:a@h,redis://:b@g,own", "-x 'redis://:a@h' y"}, []string{"target=redis://:***@h,redis://:***2@g,own", "-x 'redis://:***@h' y"},
			map[string]string{"***": "a", "***2": "b"}},
		{[]string{"target=redis://h?password=a,redis://g?password=b"}, []string{"target=redis://h?password=***,redis://g?password=***2"}, map[string]string{"***": "a", "***2": "b"}},
		{[]string{"student@node1:22", "redis://u@h", "redis://u:@h", "http://h:2379", "a:b@c"}, []string{"student@node1:22", "redis://u@h", "redis://u:@h", "http://h:2379", "a:b@c"}, map[string]string{}},
		{[]string{"redis://u:***2@h"}, []string{"redis://u:***2@h"}, map[string]string{}},
	} {
		got, passwords := cli.HidePasswords(test.words)
		if !slices.Equal(got, test.want) || !maps.Equal(passwords, test.passwords) {
			t.Errorf("%q is %q with %q, want %q with %q", test.words, got, passwords, test.want, test.passwords)
		}
	}
}
