package slab

import (
	"testing"

	"kvlab/kvs"
)

// Every size has the smallest class that holds it, and wastes little.
func TestClasses(t *testing.T) {
	largest := recordHeader + kvs.MaxKeyLen + kvs.MaxValueLen
	last := 0
	for size := 1; size <= largest; size++ {
		class := classOf(size)
		bytes := wordsOf(class) * 8
		if class != last && class != last+1 {
			t.Fatalf("classOf(%d) = %d after %d", size, class, last)
		}
		if bytes < size || last > 0 && class > last && wordsOf(last)*8 != size-1 {
			t.Fatalf("classOf(%d) = %d, of %d bytes; the class before has %d", size, class, bytes, wordsOf(last)*8)
		}
		if waste := bytes - size; waste >= 8 && waste*16 >= bytes {
			t.Fatalf("%d bytes lie in a block of %d", size, bytes)
		}
		last = class
	}
	if last != classes-1 {
		t.Errorf("the largest record has class %d of %d", last, classes)
	}
}

func TestBlockNames(t *testing.T) {
	for _, class := range []int{1, 18, classes - 1} {
		for _, place := range []uint64{0, 8, regionWords*maxRegions - 8} {
			b := blockAt(class, place)
			if b.class() != class || b.place() != place {
				t.Errorf("block of class %d at %d: class %d at %d", class, place, b.class(), b.place())
			}
			const hash = 0xfedcba9876543210
			if slot := slotOf(hash, b); blockOf(slot) != b || slot>>blockBits != 0x3210 {
				t.Errorf("slot %#x of block %#x", slot, b)
			}
		}
	}
}
