package route_test

import (
	"testing"

	"kvlab/kvs/route"
)

// A key is the prefix and the id, with zeros before an id that has fewer digits.
func TestKeys(t *testing.T) {
	for _, test := range []struct {
		keys route.Keys
		id   uint64
		want string
	}{
		{route.Keys{}, 0, "0"},
		{route.Keys{}, 1<<64 - 1, "18446744073709551615"},
		{route.Keys{Prefix: "user"}, 42, "user42"},
		{route.Keys{Prefix: "user", Digits: 13}, 0, "user0000000000000"},
		{route.Keys{Digits: 13}, 1_234_567_890_123, "1234567890123"},
		{route.Keys{Digits: 2}, 123, "123"},
	} {
		key, hash := test.keys.Append([]byte("before"), test.id)
		if string(key) != "before"+test.want || hash != route.Hash([]byte(test.want)) {
			t.Errorf("record %d of %+v: %q, %016x; want %q, %016x", test.id, test.keys, key, hash, test.want, route.Hash([]byte(test.want)))
		}
	}
}
