package history

import "kvlab/kvs/route"

// keySet is the immutable set of keys whose operations are recorded.
type keySet struct {
	names  []string
	index  map[uint64]int32 // by hash
	filter [64]uint64       // a bit for the low 12 bits of each hash
}

func newKeySet(names []string) *keySet {
	s := &keySet{names: names, index: make(map[uint64]int32)}
	for i, name := range names {
		hash := route.Hash([]byte(name))
		s.index[hash] = int32(i)
		s.filter[hash>>6&63] |= 1 << (hash & 63)
	}
	return s
}

// find returns the number of the key with a hash; false for most hashes.
func (s *keySet) find(hash uint64) (int32, bool) {
	if s.filter[hash>>6&63]>>(hash&63)&1 == 0 {
		return 0, false
	}
	key, ok := s.index[hash]
	return key, ok
}
