package workload

import "math/bits"

// block is how many operations' words are made at a time.
const block = 128

// Source is one worker's endless stream of operations. It belongs to that
// worker: it is not safe for concurrent use.
type Source struct {
	plan   *Plan
	random pcg
	walk   uint64           // sequential only: the next key
	words  [block][2]uint64 // ready to be used; random is behind them
	digest uint64
	drawn  uint64
	marked int        // digests that marks has
	marks  [64]uint64 // the digests after 1, 2, 4, ... operations
}

// Source returns the stream of worker number worker of client node number node.
// It depends on nothing but the configuration and these two numbers. With the
// sequential distribution it starts at a random record and walks on from there.
func (p *Plan) Source(node, worker int) *Source {
	s := &Source{plan: p, random: newRandom(p.config.Seed, node, worker)}
	if p.sequential {
		s.walk, _ = bits.Mul64(s.random.Uint64(), p.config.Records)
	}
	return s
}

// Next returns the next operation. Fill is faster.
func (s *Source) Next() Op {
	var op [1]Op
	s.Fill(op[:])
	return op[0]
}

// Fill sets ops to the next len(ops) operations. The stream is the same
// however it is cut into calls.
func (s *Source) Fill(ops []Op) {
	for mark := uint64(1) << s.marked; s.drawn+uint64(len(ops)) >= mark; mark = 1 << s.marked {
		head := ops[:mark-s.drawn]
		s.fill(head)
		ops = ops[len(head):]
		s.marks[s.marked] = s.digest
		s.marked++
	}
	s.fill(ops)
}

// fill is Fill up to the next mark.
func (s *Source) fill(ops []Op) {
	if s.plan.sequential {
		s.fillSequential(ops)
	} else {
		s.fillRandom(ops)
	}
	s.drawn += uint64(len(ops))
}

// fillRandom draws the operations of a block from words that are ready: while the
// generator's state is in registers, little else is.
func (s *Source) fillRandom(ops []Op) {
	for len(ops) > 0 {
		n := min(len(ops), block)
		s.random.fill(s.words[:n])
		s.draw(ops[:n])
		ops = ops[n:]
	}
}

// draw sets ops, at most a block.
func (s *Source) draw(ops []Op) {
	for i := 0; ; i++ {
		i += s.drawLevel(ops[i:], s.words[i:])
		if i == len(ops) {
			return
		}
		s.drawSloped(ops, i)
	}
}

// drawLevel sets ops up to the first whose segment's slope asks for a third word, and
// returns how many they are. It spends the bits of two words for each twice.
// Of a word times n, the high half picks one of n columns or ranks, and the low
// half is a uniform fraction that is as good as independent of it, to n parts in
// 2^64: it decides between column and alias, or the kind. Its own low half, good to
// n parts in 2^32, is only held against the segment's slope.
//
// The column's choice is arithmetic on a sign bit, as the kind's is: with branches
// a draw takes twice as long (BenchmarkFill). Nothing is called, so that most of what
// it needs stays in registers. The digest lives in a local so that
// workers whose sources share a cache line do not fight for it.
func (s *Source) drawLevel(ops []Op, words [][2]uint64) int {
	p := s.plan
	mix, mapped := p.mix, !p.keys.identity()
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
			key = p.keys.at(key)
		}
		kind := mix.kind(luck)
		ops[i] = Op{kind, key}
		digest = fold(digest, Op{kind, key})
	}
	s.digest = digest
	return level
}

// drawSloped sets operation i, whose rank is the lower of two.
func (s *Source) drawSloped(ops []Op, i int) {
	p := s.plan
	seg, _ := p.table.pick(s.words[i][0])
	offset, luck := bits.Mul64(s.words[i][1], seg.width)
	second, _ := bits.Mul64(s.another(i+1, len(ops)), seg.width)
	ops[i] = Op{p.mix.kind(luck), p.keys.at(seg.first + min(offset, second))}
	s.digest = fold(s.digest, ops[i])
}

// another takes the first of the words that are ready for the operations from
// number at to end, and puts a new one behind them.
func (s *Source) another(at, end int) uint64 {
	word := s.random.Uint64()
	for i := end - 1; i >= at; i-- {
		w := &s.words[i]
		word, w[0], w[1] = w[0], w[1], word
	}
	return word
}

// Digest returns a fingerprint of every operation so far, in order. Streams that
// differ in exactly one operation never share it, others hardly ever do.
// Starting from 0, each operation turns d into
//
//	(rotate left(d, 29) xor (4*key + kind)) * 0x9e3779b97f4a7c15 mod 2^64
func (s *Source) Digest() uint64 { return s.digest }

// Prefixes returns the Digest after the first 1, 2, 4, 8, ... operations, as far as
// they have been drawn: two streams have the same first 2^k operations when they
// share number k.
func (s *Source) Prefixes() []uint64 { return s.marks[:s.marked] }

// Drawn returns the number of operations so far.
func (s *Source) Drawn() uint64 { return s.drawn }

// fold is a bijection of d for every op, and of op for every d.
func fold(d uint64, op Op) uint64 {
	return (bits.RotateLeft64(d, 29) ^ (4*op.Key + uint64(op.Kind))) * 0x9e3779b97f4a7c15
}
