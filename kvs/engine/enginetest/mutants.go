package enginetest

import (
	"math/rand/v2"

	"kvlab/kvs"
)

// VersionMutants are the ways in which the versions of a NewVersionMutant may be wrong.
var VersionMutants = []string{
	"version reused after a delete", "unchanged for a changed key", "entry of another key",
	"digest over the wrong set",
}

// NewVersionMutant returns an engine for one goroutine, whose versions are wrong in one way;
// in none if that is "".
func NewVersionMutant(wrong string, random *rand.Rand) kvs.Engine {
	return &mutant{wrong: wrong, random: random, values: map[string]stamped{}, counts: map[string]kvs.Version{}}
}

type mutant struct {
	wrong  string
	random *rand.Rand
	values map[string]stamped
	counts map[string]kvs.Version // by key, deleted or not
	last   kvs.Op                 // the last Get
}

type stamped struct {
	value   string
	version kvs.Version
}

func (m *mutant) Len() int { return len(m.values) }

func (m *mutant) Apply(ops []kvs.Op, reply *kvs.Reply) {
	for _, op := range ops {
		if op.Kind == kvs.Get {
			m.get(op, reply)
		} else {
			m.write(op, reply)
		}
	}
}

// seldom is true for one operation in 50.
func (m *mutant) seldom() bool { return m.random.IntN(50) == 0 }

func (m *mutant) get(op kvs.Op, reply *kvs.Reply) {
	key := string(op.Key)
	if other := string(m.last.Key); m.wrong == "entry of another key" && other != "" && m.seldom() {
		key = other
	}
	e, ok := m.values[key]
	if m.wrong == "digest over the wrong set" && len(m.last.Key) > 0 && m.seldom() {
		key = string(m.last.Key)
	}
	m.last = kvs.Op{Key: []byte(string(op.Key))}
	switch {
	case !ok:
		reply.Missing()
	case reply.Versioned():
		reply.FoundVersion([]byte(key), []byte(e.value), e.version)
	default:
		reply.Found([]byte(e.value))
	}
}

func (m *mutant) write(op kvs.Op, reply *kvs.Reply) {
	key := string(op.Key)
	old, ok := m.values[key]
	var is kvs.Version
	if op.Kind == kvs.Delete {
		delete(m.values, key)
		if m.wrong == "version reused after a delete" {
			delete(m.counts, key)
		}
	} else {
		if is = m.counts[key] + 1; ok && m.wrong == "unchanged for a changed key" && m.seldom() {
			is--
		}
		m.counts[key] = is
		m.values[key] = stamped{string(op.Value), is}
	}
	if reply.Versioned() {
		reply.AnswerVersion(op.Kind, op.Key, []byte(old.value), ok, old.version, is)
	} else {
		reply.Answer(op.Kind, []byte(old.value), ok)
	}
}
