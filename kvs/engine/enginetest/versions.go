package enginetest

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"

	"kvlab/internal/kvstest"
	"kvlab/kvs"
)

// RunVersions tests the versions of an engine, in addition to Run. Each call of open returns
// a new, empty one.
func RunVersions(t *testing.T, open func() kvs.Engine) {
	for _, keys := range []int{3, 200, 12_000} { // the last are more than a segment holds
		t.Run(fmt.Sprintf("%d keys", keys), func(t *testing.T) {
			if none, err := CheckVersions(open(), kvstest.NewRandom(t), keys, max(6000, 2*keys)); err != nil || none > 0 {
				t.Errorf("%d writes have no version; error %v", none, err)
			}
		})
	}
	t.Run("concurrent", func(t *testing.T) { testVersionsConcurrent(t, open()) })
}

// CheckVersions applies random batches to an engine whose counters of versions may end, and
// returns how many writes have no version. The error says which result is wrong.
func CheckVersions(e kvs.Engine, random *rand.Rand, keys, ops int) (none int, err error) {
	m := &versionModel{e: e, random: random, last: map[string]kvs.Version{}, values: map[string]string{}, ended: map[string]bool{}}
	err = m.run(keys, ops)
	return m.none, err
}

// versionModel is a right model of one engine with versions, for one goroutine.
type versionModel struct {
	e      kvs.Engine
	random *rand.Rand
	values map[string]string      // of the keys that are there
	last   map[string]kvs.Version // of a key's last write that has one, deleted or not
	ended  map[string]bool        // keys whose counter has
	none   int                    // writes without a version
}

// run applies batches of ops operations in all, and one in four of them as a client without
// a cache does.
func (m *versionModel) run(keys, ops int) error {
	for batch := 0; ops > 0; batch++ {
		list, held := m.draw(keys, 1+m.random.IntN(400))
		ops -= len(list)
		results, err := applyVersions(m.e, list, held, batch%2 == 1)
		if err != nil {
			return err
		}
		for i, o := range list {
			if err := m.check(o, held[i], results[i], batch%2 == 1); err != nil {
				return fmt.Errorf("batch %d, operation %d of %d: %s of %q, held %d: %w", batch, i, len(list), o.kind, o.key, held[i], err)
			}
		}
		if m.e.Len() != len(m.values) {
			return fmt.Errorf("Len %d, want %d", m.e.Len(), len(m.values))
		}
		if batch%4 == 3 {
			if err := m.plain(keys); err != nil {
				return fmt.Errorf("batch %d without versions: %w", batch, err)
			}
		}
	}
	return nil
}

// draw returns operations, and what a client holds of each key: nothing, the current value,
// an earlier one, or one that is not written yet.
func (m *versionModel) draw(keys, n int) ([]op, []kvs.Version) {
	list, held := make([]op, n), make([]kvs.Version, n)
	for i := range list {
		key := fmt.Sprintf("key%d", m.random.IntN(keys))
		list[i] = op{kind: randomKind(m.random, versionKinds), key: key}
		if list[i].kind.Carries() {
			list[i].value = fmt.Sprintf("%s-%d", key, m.random.Uint64()>>m.random.IntN(60))
		}
		last := m.last[key]
		switch m.random.IntN(8) {
		case 0:
		case 1:
			held[i] = last - min(last, 1)
		case 2:
			held[i] = last + 1 + kvs.Version(m.random.IntN(3))
		case 3:
			held[i] = math.MaxUint32
		default:
			held[i] = last
		}
	}
	return list, held
}

var versionKinds = []kvs.Kind{kvs.Get, kvs.Get, kvs.Get, kvs.Put, kvs.ReadModifyWrite, kvs.Insert, kvs.Delete}

// check compares a result with the model, and brings that up to date.
func (m *versionModel) check(o op, held kvs.Version, got kvstest.VersionResult, dedup bool) error {
	value, there := m.values[o.key]
	current := m.last[o.key]
	if m.ended[o.key] {
		current = 0
	}
	before := missing
	if there {
		before = found(value)
	}
	due, after := o.step(before)
	if unchanged := o.kind.Reads() && there && current != 0 && held == current; got.Unchanged != unchanged {
		return fmt.Errorf("unchanged %t, want %t: the current version is %d", got.Unchanged, unchanged, current)
	}
	if is := (outcome{!got.Read, got.Found, string(got.Value)}); !got.Unchanged && is != due {
		return fmt.Errorf("%v, want %v", is, due)
	}
	if o.kind == kvs.Get && got.Found && got.Version != current && !(dedup && got.Version == 0) {
		return fmt.Errorf("found version %d, want %d", got.Version, current)
	}
	if m.values[o.key] = after.value; !after.found {
		delete(m.values, o.key)
	}
	if o.kind.Writes() {
		return m.wrote(o.key, got.Version)
	}
	return nil
}

// wrote holds a write's version against those of the key's earlier ones.
func (m *versionModel) wrote(key string, version kvs.Version) error {
	switch last := m.last[key]; {
	case version == 0:
		m.none++
		m.ended[key] = true
	case version <= last || m.ended[key]:
		return fmt.Errorf("written as version %d after %d", version, last)
	default:
		m.last[key] = version
	}
	return nil
}

// plain writes and reads some keys without versions. Then no version that a client holds
// names their values.
func (m *versionModel) plain(keys int) error {
	var list, reads []op
	var held []kvs.Version
	for range 20 {
		key := fmt.Sprintf("key%d", m.random.IntN(keys))
		if slices.ContainsFunc(list, func(o op) bool { return o.key == key }) {
			continue
		}
		value := fmt.Sprintf("plain-%d", m.random.Uint64())
		list = append(list, put(key, value), get(key))
		reads = append(reads, get(key), get(key))
		held = append(held, m.last[key], 0)
		m.values[key] = value
	}
	var reply kvs.Reply
	reply.Reset()
	m.e.Apply(lend(list), &reply)
	results, err := kvstest.DecodeReply(&reply)
	if err != nil {
		return err
	}
	for i, o := range list {
		if r := results[i]; o.kind == kvs.Get && string(r.Value) != m.values[o.key] {
			return fmt.Errorf("%s reads %q, want %q", o.key, r.Value, m.values[o.key])
		}
	}
	after, err := applyVersions(m.e, reads, held, false)
	if err != nil {
		return err
	}
	for i, o := range reads {
		if after[i].Unchanged || string(after[i].Value) != m.values[o.key] {
			return fmt.Errorf("%s of version %d: unchanged %t, %q, want %q", o.key, held[i], after[i].Unchanged, after[i].Value, m.values[o.key])
		}
		if i%2 == 0 {
			if err := m.wrote(o.key, after[i].Version); err != nil {
				return fmt.Errorf("%s: %w", o.key, err)
			}
		}
	}
	return nil
}

// lend returns the operations as an engine takes them.
func lend(list []op) []kvs.Op {
	ops := make([]kvs.Op, len(list))
	for i, o := range list {
		ops[i] = kvs.Op{Kind: o.kind, Key: []byte(o.key)}
		if o.kind.Carries() {
			ops[i].Value = []byte(o.value)
		}
	}
	return ops
}

// applyVersions executes operations in one Apply, with the versions that a client holds.
func applyVersions(e kvs.Engine, list []op, held []kvs.Version, dedup bool) ([]kvstest.VersionResult, error) {
	var reply kvs.Reply
	reply.Reset()
	if dedup {
		reply.Dedup(len(list))
		defer reply.EndDedup()
	}
	reply.AddVersions()
	reply.Hold(held)
	ops := lend(list)
	e.Apply(ops, &reply)
	reply.EndVersions()
	return kvstest.DecodeVersions(&reply, ops, held)
}

// write names a value by its key and version.
type write struct {
	key     string
	version kvs.Version
}

// testVersionsConcurrent has goroutines write, delete and read the same keys. A version
// names one value of its key, and a goroutine never reads an earlier one than it has seen,
// nor is told that such a one is unchanged.
func testVersionsConcurrent(t *testing.T, e kvs.Engine) {
	seeds := kvstest.NewRandom(t)
	written, read := make([]map[write]string, goroutines), make([]map[write]string, goroutines)
	var group sync.WaitGroup
	for id := range goroutines {
		written[id], read[id] = map[write]string{}, map[write]string{}
		random := rand.New(rand.NewPCG(seeds.Uint64(), 0))
		group.Go(func() {
			seen := map[string]kvs.Version{}
			for round := range 150 {
				if err := versionRound(e, random, fmt.Sprintf("%d-%d", id, round), seen, written[id], read[id]); err != nil {
					t.Errorf("goroutine %d, round %d: %v", id, round, err)
					return
				}
			}
		})
	}
	group.Wait()
	all := map[write]string{}
	for id := range written {
		for w, value := range written[id] {
			if other, ok := all[w]; ok {
				t.Fatalf("%+v names %s and %s", w, other, value)
			}
			all[w] = value
		}
	}
	for id := range read {
		for w, value := range read[id] {
			if all[w] != value {
				t.Fatalf("goroutine %d: %+v was read as %s, and is %s", id, w, value, all[w])
			}
		}
	}
}

// versionRound applies a batch, and adds its versions to what a goroutine has seen, written
// and read.
func versionRound(e kvs.Engine, random *rand.Rand, name string, seen map[string]kvs.Version, written, read map[write]string) error {
	list, held := make([]op, 1+random.IntN(40)), make([]kvs.Version, 40)
	for i := range list {
		list[i] = op{randomKind(random, versionKinds), sharedKey(random.IntN(sharedKeys)), fmt.Sprintf("%s-%d", name, i)}
		held[i] = seen[list[i].key]
		held[i] -= min(held[i], kvs.Version(random.IntN(3)))
	}
	results, err := applyVersions(e, list, held, false)
	if err != nil {
		return err
	}
	for i, o := range list {
		r, at := results[i], seen[o.key]
		if r.Unchanged && held[i] < at {
			return fmt.Errorf("%s of %s: version %d is unchanged, after %d was seen", o.kind, o.key, held[i], at)
		}
		switch {
		case o.kind.Writes():
			written[write{o.key, r.Version}] = o.value
			if r.Version <= at {
				return fmt.Errorf("%s of %s: version %d after %d", o.kind, o.key, r.Version, at)
			}
		case o.kind == kvs.Get && r.Found:
			read[write{o.key, r.Version}] = string(r.Value)
			if r.Version < at {
				return fmt.Errorf("%s of %s: version %d after %d", o.kind, o.key, r.Version, at)
			}
		default:
			continue
		}
		seen[o.key] = r.Version
	}
	return nil
}
