package door

import (
	"encoding/binary"
	"hash/maphash"
	"sync"

	"kvlab/kvs"
)

// mark begins the value of a hash. The gateway stores no other value that begins so.
const mark = "\x00kvlab hash v1\x00\x00"

func isHash(value []byte) bool { return len(value) >= len(mark) && string(value[:len(mark)]) == mark }

// hash is a hash that is read or changed. Its value in the store is the mark and then, for
// each field in the order in which they were first set, the length of its name as a
// uvarint, its name, the length of its value, and its value.
type hash struct {
	fields  [][2][]byte    // names and values
	index   map[string]int // fields by name, if there are many
	encoded []byte
}

// indexed is how many fields have an index.
const indexed = 32

// decode replaces the fields by those of a value, to which they refer. It reports whether
// the value is a hash.
func (h *hash) decode(value []byte) bool {
	h.fields = h.fields[:0]
	clear(h.index)
	if !isHash(value) {
		return false
	}
	for rest := value[len(mark):]; len(rest) > 0; {
		var field [2][]byte
		for i := range field {
			n, size := binary.Uvarint(rest)
			if size <= 0 || n > uint64(len(rest)-size) {
				return false
			}
			field[i], rest = rest[size:size+int(n)], rest[size+int(n):]
		}
		h.add(field)
	}
	return true
}

func (h *hash) add(field [2][]byte) {
	h.fields = append(h.fields, field)
	for i := len(h.index); i < len(h.fields) && len(h.fields) >= indexed; i++ {
		h.index[string(h.fields[i][0])] = i
	}
}

// find returns the number of a field, or -1.
func (h *hash) find(name []byte) int {
	if len(h.fields) >= indexed {
		if i, ok := h.index[string(name)]; ok {
			return i
		}
		return -1
	}
	for i := range h.fields {
		if string(h.fields[i][0]) == string(name) {
			return i
		}
	}
	return -1
}

// set sets a field and reports whether it is new.
func (h *hash) set(name, value []byte) bool {
	if i := h.find(name); i >= 0 {
		h.fields[i][1] = value
		return false
	}
	h.add([2][]byte{name, value})
	return true
}

// encode returns the value of the fields. It is valid until the next call.
func (h *hash) encode() []byte {
	b := append(h.encoded[:0], mark...)
	for _, field := range h.fields {
		for _, part := range field {
			b = append(binary.AppendUvarint(b, uint64(len(part))), part...)
		}
	}
	h.encoded = b
	return b
}

// hashLocks order the writes of a key: a hash is read, changed and written again. While
// there is no hash, other writes hold plain alone and are applied in batches. Later each
// write holds the lock of its key.
type hashLocks struct {
	plain sync.RWMutex
	some  bool // hashes may exist; guarded by plain

	seed   maphash.Seed
	byHash [256]sync.Mutex
}

// none reports whether no hash exists. None is then made before the caller unlocks plain.
func (h *hashLocks) none() bool {
	h.plain.RLock()
	if h.some {
		h.plain.RUnlock()
	}
	return !h.some
}

// begin is called before a hash is made.
func (h *hashLocks) begin() {
	if h.none() {
		h.plain.RUnlock()
		h.plain.Lock()
		h.some = true
		h.plain.Unlock()
	}
}

// of returns the lock of a key.
func (h *hashLocks) of(key []byte) *sync.Mutex {
	return &h.byHash[maphash.Bytes(h.seed, key)%uint64(len(h.byHash))]
}

// applyBeside applies operations one by one, each under the lock of its key.
func (c *conn) applyBeside(ops []kvs.Op) {
	for i := range ops {
		if c.err == nil {
			c.applyLocked(ops[i : i+1])
		}
	}
}

func (c *conn) applyLocked(op []kvs.Op) {
	lock := c.gateway.hashes.of(op[0].Key)
	lock.Lock()
	defer lock.Unlock()
	if op[0].Kind == kvs.ReadModifyWrite {
		if old, found := c.look(op[0].Key); found && isHash(old) {
			c.answer(1) // that of a key of the wrong type
			return
		}
	}
	c.applyNow(op)
}

// look reads a key. The value is valid until the next operation.
func (c *conn) look(key []byte) (value []byte, found bool) {
	r := c.one(kvs.Op{Kind: kvs.Get, Key: key})
	return r.Value, r.Found
}

// one applies an operation that is no command's own.
func (c *conn) one(op kvs.Op) (r kvs.Result) {
	c.single[0] = op
	if c.err == nil {
		c.err = c.service.Apply(c.single[:], &c.reply)
	}
	if c.err == nil {
		results := c.reply.Results()
		r, c.err = results.Next()
	}
	return r
}

// fields reads the hash of a key into c.hash, an empty one if there is none, and counts
// the read unless it is for a write. It answers what goes wrong.
func (c *conn) fields(write bool) bool {
	key := c.commands.Arg(1)
	if why := badKey(key); why != "" {
		c.fail(why)
		return false
	}
	value, found := c.look(key)
	if !write {
		c.read(found)
	}
	if !c.hash.decode(value) && found {
		c.fail(wrongType)
		return false
	}
	return c.err == nil
}

// hset is HSET and HMSET.
func hset(c *conn, row *row, args int) {
	if args%2 != 0 {
		c.fail("ERR wrong number of arguments for '" + row.name + "' command")
		return
	}
	h := &c.gateway.hashes
	h.begin()
	lock := h.of(c.commands.Arg(1))
	lock.Lock()
	defer lock.Unlock()
	if !c.fields(true) {
		return
	}
	fresh := 0
	for i := 2; i < args; i += 2 {
		if c.hash.set(c.commands.Arg(i), c.commands.Arg(i+1)) {
			fresh++
		}
	}
	value := c.hash.encode()
	if len(value) > kvs.MaxValueLen {
		c.fail("ERR the hash is too large: its fields and values take at most 1 MiB")
		return
	}
	c.one(kvs.Op{Kind: kvs.Put, Key: c.commands.Arg(1), Value: value})
	if row.name == "hmset" {
		c.ok()
	} else {
		c.integer(fresh)
	}
}

func hmget(c *conn, _ *row, args int) {
	if !c.fields(false) {
		return
	}
	c.array(args - 2)
	for i := 2; i < args; i++ {
		if at := c.hash.find(c.commands.Arg(i)); at >= 0 {
			c.bulk(c.hash.fields[at][1])
		} else {
			c.null()
		}
	}
}

func hgetall(c *conn, _ *row, _ int) {
	if !c.fields(false) {
		return
	}
	c.pairs(len(c.hash.fields))
	for _, field := range c.hash.fields {
		c.bulk(field[0])
		c.bulk(field[1])
	}
}
