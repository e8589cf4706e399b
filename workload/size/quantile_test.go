package size

import "testing"

// A smaller share of the sizes exceeds a larger size.
func TestQuantilesRise(t *testing.T) {
	for _, s := range []*Sizes{(Law{Least: 24, Most: MostValue}).Values(1), (Law{ETC: true}).Values(1), (Law{ETC: true}).Keys(1)} {
		last := s.quantile(0)
		if last != s.Most && s.Most == MostValue {
			t.Errorf("the largest of %d to %d is %d", s.Least, s.Most, last)
		}
		for share := uint64(1); ; {
			size := s.quantile(share)
			if size > last || size < s.Least {
				t.Fatalf("share %#x exceeds %d, a smaller one %d; the least is %d", share, size, last, s.Least)
			}
			last = size
			next := share + share>>9 + 1
			if next < share {
				break
			}
			share = next
		}
	}
}
