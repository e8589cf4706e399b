package workload

import (
	"math/bits"
	"math/rand/v2"
)

// Source is one worker's endless stream of operations. It belongs to that
// worker: it is not safe for concurrent use.
type Source struct {
	plan   *Plan
	random rand.PCG
	walk   uint64 // sequential only: the next key
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
	if p.config.distribution() == Sequential {
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
	if s.plan.config.distribution() == Sequential {
		s.fillSequential(ops)
	} else {
		s.fillRandom(ops)
	}
	s.drawn += uint64(len(ops))
}

// fillRandom spends the bits of two random words twice. Of a word times n, the
// high half picks one of n columns or ranks, and the low half is a uniform
// fraction that is as good as independent of it, to n parts in 2^64: it decides
// between column and alias, or the kind. Its own low half, good to n parts in
// 2^32, is only held against the segment's slope.
//
// The column's choice is arithmetic on a borrow bit, as the kind's is: with
// branches a draw takes 12 ns instead of 7 (BenchmarkFill). The state lives in
// locals so that workers whose sources share a cache line do not fight for it.
func (s *Source) fillRandom(ops []Op) {
	p := s.plan
	columns, segments := p.table.columns, p.table.segments
	mix, mapped := p.mix, !p.keys.identity()
	random, digest := s.random, s.digest
	for i := range ops {
		at, fraction := bits.Mul64(random.Uint64(), uint64(len(columns)))
		c := columns[at]
		_, own := bits.Sub64(fraction>>32, uint64(c.threshold), 0) // 1 below the threshold, or 0
		at = uint64(c.alias) ^ (at^uint64(c.alias))&-own

		seg := &segments[at]
		offset, luck := bits.Mul64(random.Uint64(), seg.width)
		if uint32(fraction) < seg.slope { // once in 1,000 draws past the head
			second, _ := bits.Mul64(random.Uint64(), seg.width)
			offset = min(offset, second)
		}
		key := seg.first + offset
		if mapped {
			key = p.keys.at(key)
		}
		ops[i] = Op{mix.kind(luck), key}
		digest = fold(digest, ops[i])
	}
	s.random, s.digest = random, digest
}

// fillSequential walks on, and draws kinds only.
func (s *Source) fillSequential(ops []Op) {
	for i := range ops {
		op := Op{s.plan.mix.kind(s.random.Uint64()), s.walk}
		if s.walk++; s.walk == s.plan.config.Records {
			s.walk = 0
		}
		ops[i] = op
		s.digest = fold(s.digest, op)
	}
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
	return (bits.RotateLeft64(d, 29) ^ (op.Key<<2 | uint64(op.Kind))) * 0x9e3779b97f4a7c15
}
