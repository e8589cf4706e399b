package enginetest

import (
	"math/rand/v2"
	"os"
	"testing"

	"kvlab/kvs"
)

// mutant is an engine for one goroutine, whose versions are wrong in one way.
type mutant struct {
	wrong  string // "" for a right engine
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
	if m.wrong == "version of the written value" {
		old.version = is
	}
	if reply.Versioned() {
		reply.AnswerVersion(op.Kind, op.Key, []byte(old.value), ok, old.version, is)
	} else {
		reply.Answer(op.Kind, []byte(old.value), ok)
	}
}

// The oracle itself: it accepts a right engine, and finds each mutant whatever the seed.
func TestVersionMutants(t *testing.T) {
	seeds := uint64(3)
	if os.Getenv("KVLAB_LONG") == "1" {
		seeds = 20
	}
	for _, wrong := range []string{
		"", "version reused after a delete", "unchanged for a changed key", "entry of another key",
		"digest over the wrong set", "version of the written value",
	} {
		t.Run(wrong, func(t *testing.T) {
			for seed := range seeds {
				random := rand.New(rand.NewPCG(seed, 0))
				e := &mutant{wrong: wrong, random: random, values: map[string]stamped{}, counts: map[string]kvs.Version{}}
				none, err := CheckVersions(e, random, 20, 10_000)
				if (err == nil) != (wrong == "") || none > 0 {
					t.Errorf("seed %d: error %v, %d writes have no version", seed, err, none)
				}
				t.Logf("seed %d: %v", seed, err)
			}
		})
	}
}
