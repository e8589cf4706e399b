package workload

import (
	"math"
	"math/bits"
)

// block is the number of operations whose words are generated together.
const block = 128

// Source is one worker's stream of operations, which may end. It is not safe for concurrent use.
type Source struct {
	plan                  *Plan
	place                 Place
	random                pcg
	ids                   affine           // the plan's drawn, moved as the hot set is
	walk                  uint64           // sequential only: the next key
	words                 [block][2]uint64 // generated and unused words; random is past them
	digest                uint64
	drawn, share          uint64     // how many operations are drawn, and are in all
	player                *player    // nil without a trace
	inserts, acknowledged uint64     // inserts drawn, and how many of the first are done
	marked                int        // number of digests in marks
	marks                 [64]uint64 // the digests after 1, 2, 4, ... operations
}

// Source returns the stream of the worker at a place. The stream depends only on the
// configuration and the place. With Latest and inserts, the ids also depend on what is
// acknowledged. A sequential stream starts at a random record.
func (p *Plan) Source(place Place) *Source {
	hi, lo := leaf(p.config.Seed, streamBranch, place.Node, place.Worker)
	s := &Source{plan: p, place: place, random: pcg{hi, lo}, ids: p.drawn, share: p.Ops(place)}
	if p.replay != nil {
		s.player = newPlayer(p.replay, place)
	}
	if p.law.sequential {
		s.walk, _ = bits.Mul64(s.random.Uint64(), p.config.Records)
	}
	return s
}

// Acknowledge says that the first n inserts of the stream are done, so that Latest may draw
// their records. n is at most the number of inserts that Fill has drawn, and never falls.
func (s *Source) Acknowledge(n uint64) { s.acknowledged = n }

// Fill sets ops to the next len(ops) operations. The lengths of the calls do not change
// the stream. It panics beyond the end of a trace; see Left.
func (s *Source) Fill(ops []Op) {
	if s.player != nil {
		s.player.found = s.player.found[:0]
	}
	for mark := uint64(1) << s.marked; s.drawn+uint64(len(ops)) >= mark; mark = 1 << s.marked {
		head := ops[:mark-s.drawn]
		s.fill(head)
		ops = ops[len(head):]
		s.marks[s.marked] = s.digest
		s.marked++
	}
	s.fill(ops)
}

// fill sets ops as Fill does, at most up to the next mark.
func (s *Source) fill(ops []Op) {
	switch {
	case s.player != nil:
		s.fillReplay(ops)
	case s.plan.law.sequential:
		s.fillSequential(ops)
	case s.plan.Moves():
		s.fillMoving(ops)
	default:
		s.fillRandom(ops)
	}
	s.drawn += uint64(len(ops))
}

// fillRandom generates the words of a block of operations before it draws them, because
// the generator's state takes up most registers.
func (s *Source) fillRandom(ops []Op) {
	for len(ops) > 0 {
		n := min(len(ops), block)
		s.random.fill(s.words[:n])
		s.draw(ops[:n])
		s.locate(ops[:n])
		ops = ops[n:]
	}
}

// draw sets ops, at most one block.
func (s *Source) draw(ops []Op) {
	for i := 0; ; i++ {
		if s.plan.mix.paired {
			i += s.drawLevel(ops[i:], s.words[i:])
		}
		if i == len(ops) {
			return
		}
		s.drawOne(ops, i)
	}
}

// drawLevel sets ops up to the first whose segment's slope requires a third word, and
// returns their number. It uses the bits of each operation's two words twice. The high
// half of a word times n selects one of n columns or ranks. The low half is a uniform
// fraction, and its dependence on the high half is at most n parts in 2^64. It selects the
// column's segment or alias, or the kind. The fraction's own low half is good to n parts
// in 2^32, and is only compared with the segment's slope.
//
// The segment and the kind are selected by arithmetic on a sign bit. With branches a draw
// takes twice as long (BenchmarkFill). All calls are inlined, so most variables stay in
// registers. The digest is a local variable because sources may share a cache line.
func (s *Source) drawLevel(ops []Op, words [][2]uint64) int {
	p := s.plan
	pair, mapped := p.mix.pair, !s.ids.identity()
	words = words[:len(ops)]
	level, digest := len(ops), s.digest
	for i := range ops {
		seg, fraction := p.table.pick(words[i][0])
		if seg.sloped(fraction) { // once in 1,000 draws past the head
			level = i
			break
		}
		offset, luck := bits.Mul64(words[i][1], seg.width)
		key := seg.first + offset
		if mapped {
			key = s.ids.at(key)
		}
		kind := pair.kind(luck)
		ops[i] = Op{Kind: kind, Key: key}
		digest = fold(digest, 4*key+uint64(kind))
	}
	s.digest = digest
	return level
}

// drawOne sets operation i, of any kind, on a record of any segment.
func (s *Source) drawOne(ops []Op, i int) {
	p := s.plan
	word := s.words[i][1]
	seg, fraction := p.table.pick(s.words[i][0])
	offset, luck := bits.Mul64(word, seg.width)
	if seg.sloped(fraction) { // the lower of two ranks
		second, _ := bits.Mul64(s.another(i+1, len(ops)), seg.width)
		offset = min(offset, second)
	}
	ops[i] = s.operation(s.ids.at(seg.first+offset), luck)
}

// operation returns the operation whose kind a random word selects, on the record with a key
// unless it is an insert.
func (s *Source) operation(key, word uint64) Op {
	op := Op{Kind: s.plan.mix.kind(word), Key: key}
	switch op.Kind {
	case Insert:
		op.Key = s.plan.Inserted(s.place, s.inserts)
		s.inserts++
	case Scan:
		length, _ := bits.Mul64(mix64(word), s.plan.config.ScanLength)
		op.Limit = uint32(1 + length)
	}
	s.digest = fold(s.digest, op.word())
	return op
}

// locate sets the ids of operations whose keys are ranks.
func (s *Source) locate(ops []Op) {
	p := s.plan
	switch {
	case p.law.hashed:
		for i := range ops {
			if ops[i].Kind != Insert {
				ops[i].Key = p.hashing.at(ops[i].Key)
			}
		}
	case p.follows:
		for i := range ops {
			switch rank := ops[i].Key; {
			case ops[i].Kind == Insert:
			case rank < s.acknowledged:
				ops[i].Key = p.Inserted(s.place, s.acknowledged-1-rank)
			default:
				ops[i].Key = p.keys.at(rank - s.acknowledged)
			}
		}
	}
}

// another removes the first unused word of the operations from number at to end, and
// appends a new one.
func (s *Source) another(at, end int) uint64 {
	word := s.random.Uint64()
	for i := end - 1; i >= at; i-- {
		w := &s.words[i]
		word, w[0], w[1] = w[0], w[1], word
	}
	return word
}

// Digest returns a fingerprint of all operations so far, in order. Streams that differ in
// exactly one operation never have the same digest, and other streams hardly ever.
// Starting from 0, each operation turns d into
//
//	(rotate left(d, 29) xor word) * 0x9e3779b97f4a7c15 mod 2^64
//
// with the word 4*key + kind mod 4 + 2^44*limit + 2^60*(kind div 4). The key is the record's
// id. With Scrambled, and with Latest and inserts, it is the rank that was drawn: a digest
// does not depend on what is acknowledged.
func (s *Source) Digest() uint64 { return s.digest }

// Prefixes returns the digests after the first 1, 2, 4, 8, ... operations that have been
// drawn. Two streams whose digests number k are equal have the same first 2^k operations.
func (s *Source) Prefixes() []uint64 { return s.marks[:s.marked] }

// Drawn returns the number of operations drawn.
func (s *Source) Drawn() uint64 { return s.drawn }

// Passed reports whether a share of the stream is drawn; false of an endless one.
func (s *Source) Passed(share float64) bool {
	return s.share < math.MaxUint64 && float64(s.drawn) >= share*float64(s.share)
}

// Left returns how many operations the stream has left.
func (s *Source) Left() int { return int(min(s.share-s.drawn, math.MaxInt)) }

// fold returns the digest d extended by an operation's word. It is a bijection of d for
// every word, and of the word for every d.
func fold(d, word uint64) uint64 {
	return (bits.RotateLeft64(d, 29) ^ word) * 0x9e3779b97f4a7c15
}
