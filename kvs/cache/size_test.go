package cache

import (
	"strings"
	"testing"
)

// A size prints as it can be typed, and an error says how to.
func TestSizeSet(t *testing.T) {
	for text, want := range map[string]Size{
		"": 0, "0": 0, "all": All, "1KiB": 1 << 10, "64MiB": 64 << 20, "2GiB": 2 << 30, "1536KiB": 1536 << 10, "2048MiB": 2 << 30,
		"8388607GiB": (1<<23 - 1) << 30, "64MB": 64e6, "64mib": 64 << 20, "1.5GiB": 3 << 29, "500": 500,
	} {
		var s, again Size
		if err := s.Set(text); err != nil || s != want {
			t.Errorf("%q sets %d, %v; want %d", text, s, err, want)
		}
		if err := again.Set(s.String()); err != nil || again != s {
			t.Errorf("%q prints as %q, which sets %d, %v", text, s.String(), again, err)
		}
	}
	for _, text := range []string{"-1", "0MiB", "MiB", "64 MiB", "-1MiB", "+1MiB", "8589934592GiB", "ALL", "none", "true"} {
		s := Size(7)
		if err := s.Set(text); err == nil || !strings.Contains(err.Error(), "want all, for every record, a size such as 64MiB") || s != 7 {
			t.Errorf("%q sets %d, %v", text, s, err)
		}
	}
}

// A Store has no more memory than its size, and room for the records if that is enough; all
// is enough.
func TestSizeOpens(t *testing.T) {
	for _, longest := range []int{24, 100, 128, 4096} {
		least := Size(ways * EntryBytes(longest))
		for _, size := range []Size{least, least + 1, 2*least - 1, 1 << 20, 64 << 20, All} {
			for _, records := range []uint64{1, 8, 1000} {
				if err := size.Check(longest); err != nil {
					t.Error(err)
				}
				s := size.Open(records, longest)
				rounded := (records + ways - 1) / ways * ways * EntryBytes(longest)
				if want := min(rounded, uint64(size)/uint64(least)*uint64(least)); s.Bytes() != want {
					t.Errorf("%s for %d values of %d bytes opens %d bytes, want %d", &size, records, longest, s.Bytes(), want)
				}
			}
		}
		size := least - 1
		if err := size.Check(longest); err == nil || !strings.HasPrefix(err.Error(), "-cache "+size.String()+": want at least ") {
			t.Errorf("%d bytes for values of %d: %v", size, longest, err)
		}
	}
	var none Size
	if err := none.Check(1 << 20); err != nil || none.Open(1000, 128) != nil {
		t.Errorf("no cache: %v", err)
	}
}
