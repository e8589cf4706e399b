package slab

import (
	"encoding/binary"
	"testing"
)

// Blocks of all classes are filled to the last byte with their own name, and
// hold it in the end: no two overlap, none crosses a region.
func TestArenaBlocksAreApart(t *testing.T) {
	a := newArena()
	defer a.close()
	var blocks []block
	for range 2 {
		for class := 1; class < classes; class += 7 {
			taken, err := a.take(class, nil)
			if err != nil {
				t.Fatal(err)
			}
			blocks = append(blocks, taken...)
		}
	}
	for _, b := range blocks {
		data := a.data(b)
		for i := range wordsOf(b.class()) {
			binary.LittleEndian.PutUint64(data[i*8:], uint64(b))
		}
	}
	for _, b := range blocks {
		data := a.data(b)
		for i := range wordsOf(b.class()) {
			if got := block(binary.LittleEndian.Uint64(data[i*8:])); b == 0 || got != b {
				t.Fatalf("word %d of block %#x belongs to block %#x", i, b, got)
			}
		}
	}
}

// What was given back is handed out again before the arena grows.
func TestArenaReuses(t *testing.T) {
	a := newArena()
	defer a.close()
	const class = 18
	blocks, err := a.take(class, nil)
	if err != nil {
		t.Fatal(err)
	}
	given := map[block]bool{}
	for _, b := range blocks {
		given[b] = true
	}
	next := a.next
	a.give(class, blocks)
	again, err := a.take(class, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, b := range again {
		if !given[b] {
			t.Errorf("block %#x is new", b)
		}
	}
	if len(again) != len(blocks) || a.next != next {
		t.Errorf("%d blocks after %d, the arena's end at %d after %d", len(again), len(blocks), a.next, next)
	}
}
