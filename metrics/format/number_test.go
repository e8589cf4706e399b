package format

import "testing"

func TestMilliseconds(t *testing.T) {
	for _, test := range []struct {
		micros float64
		want   string
	}{{0, "0"}, {1, "0.001"}, {1234, "1.23"}, {25600, "25.6"}, {999400, "999"}, {1234567, "1235"}, {3.6e9, "3600000"}} {
		if got := Milliseconds(test.micros); got != test.want {
			t.Errorf("Milliseconds(%g) = %q, want %q", test.micros, got, test.want)
		}
	}
}

func TestLabel(t *testing.T) {
	for _, test := range []struct{ name, want string }{
		{"node0", "node0"}, {"a\nb\x00c\xff", "a?b?c?"}, {"a-very-long-node-name", "a-very-lo…"}, {"ünïcödé-ab", "ünïcödé-ab"},
	} {
		if got := Label(test.name, 10); got != test.want {
			t.Errorf("Label(%q) = %q, want %q", test.name, got, test.want)
		}
	}
}
