package trace

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"hash/maphash"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"unicode"
	"unicode/utf8"
)

// Command is what an operation of an input does.
type Command uint8

// The commands.
const (
	Get     Command = iota // reads the key
	Set                    // writes it
	Add                    // writes it if it is absent
	Replace                // writes it if it is present
	Swap                   // compares and swaps it, if it is present
	Append                 // makes a present value longer, at either end
	Count                  // increments or decrements a present value
	Remove                 // deletes it
	Fill                   // reads it, and writes it if it is absent
)

// Input is an operation of an input.
type Input struct {
	Command Command
	Name    string // of the command in the input
	Key     []byte // what tells it from other keys
	Length  int    // bytes of the key; 0 if the input does not tell
	Size    int    // bytes of the value, of a Get 0 if it found none
	Unknown bool   // as of Redis: a Count makes an absent value; the input does not tell what a Get found, and Size is what a present value has
	Times   int    // how often it was done, 1 or more
	Expires bool   // it has a time to live
	Tick    uint32 // from the first operation on
}

// entry is what a Builder knows of a key.
type entry struct {
	ops    uint32
	length uint8
	loaded int32 // the size that it is loaded with; 0 for none
	size   int32 // of its value now; absent without one
	wrote  bool
	text   string // with Builder.Texts
}

const absent = -1

// Builder compiles a trace. It holds 80 bytes for each key, and the operations in a temporary
// file beside the result.
type Builder struct {
	PutOnly   bool // compiles read-modify-writes as writes
	NoDeletes bool // leaves deletes out, and counts them as skipped: the key keeps its value
	Texts     bool // keeps the keys themselves, which then take memory, too

	head  Header
	path  string
	file  *os.File
	out   *bufio.Writer
	seeds [2]maphash.Seed
	ids   map[[2]uint64]uint32 // by two hashes of the key: two of 10^9 keys share both once in 10^20
	keys  []entry
	last  uint32
}

// Create begins a trace for a path. It refuses a path with a file that is no trace of kvlab's.
func Create(path, format string, tickNs int64) (*Builder, error) {
	if err := CheckReplaceable(path); err != nil {
		return nil, err
	}
	file, err := os.CreateTemp(filepath.Dir(path), ".kvtrace-*")
	if err != nil {
		return nil, err
	}
	b := &Builder{path: path, file: file, out: bufio.NewWriterSize(file, 1<<20), ids: make(map[[2]uint64]uint32),
		seeds: [2]maphash.Seed{maphash.MakeSeed(), maphash.MakeSeed()}}
	b.head = Header{Format: format, TickNs: tickNs, Kinds: make(map[string]uint64), Commands: make(map[string]uint64), Skipped: make(map[string]uint64), Became: make(map[string][len(kindNames)]uint64)}
	_, err = b.out.Write(make([]byte, headerLen))
	return b, err
}

// CheckReplaceable returns an error if a path has a file that is no trace of kvlab's, of any
// version.
func CheckReplaceable(path string) error {
	file, err := os.Open(path)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer file.Close()
	begins := make([]byte, len("kvlab trace "))
	if _, err := io.ReadFull(file, begins); err != nil || string(begins) != "kvlab trace " {
		return fmt.Errorf("%s exists, and is no compiled trace: want another name, or remove it", path)
	}
	return nil
}

// Add adds an operation, as often as it was done. An error says what is wrong with it.
func (b *Builder) Add(in Input) error {
	if b.Texts {
		if in.Length = len(in.Key); !isText(in.Key) {
			return fmt.Errorf("key %.40q: a store of text takes no spaces, control characters and broken UTF-8: leave -keys out", in.Key)
		}
	}
	if in.Length > MostKey {
		return fmt.Errorf("a key of %d bytes: want at most %d", in.Length, MostKey)
	}
	if in.Tick < b.last {
		b.head.Disordered += uint64(in.Times)
		in.Tick = b.last
	}
	b.last = in.Tick
	id, err := b.id(in)
	if err != nil {
		return err
	}
	b.head.Commands[in.Name] += uint64(in.Times)
	for range in.Times {
		if err := b.do(in, id); err != nil {
			return err
		}
	}
	return nil
}

// isText reports whether every store takes a key, those with a protocol of text too.
func isText(key []byte) bool {
	return utf8.Valid(key) && !bytes.ContainsFunc(key, func(c rune) bool { return c <= ' ' || unicode.IsControl(c) })
}

// Skip counts an operation that a replay leaves out.
func (b *Builder) Skip(name string) { b.head.Skipped[name]++ }

// id returns the number of a key, in the order in which keys come.
func (b *Builder) id(in Input) (uint32, error) {
	name := [2]uint64{maphash.Bytes(b.seeds[0], in.Key), maphash.Bytes(b.seeds[1], in.Key)}
	id, known := b.ids[name]
	if known {
		return id, nil
	}
	if len(b.keys) == 1<<32-1 {
		return 0, errors.New("more than 2^32 keys")
	}
	id = uint32(len(b.keys))
	b.ids[name] = id
	e := entry{length: uint8(in.Length), size: absent}
	if b.Texts {
		e.text = string(in.Key)
	}
	if in.Command == Get && in.Size > 0 {
		e.loaded = b.sized(in.Size)
		e.size = e.loaded
		b.head.Loaded++
		b.head.LoadedBytes += uint64(e.loaded)
	}
	b.keys = append(b.keys, e)
	return id, nil
}

// sized returns the size of a value that is sent for one of a size.
func (b *Builder) sized(size int) int32 {
	if size < LeastValue {
		b.head.Smaller++
	} else if size > MostValue {
		b.head.Larger++
	}
	return int32(min(max(size, LeastValue), MostValue))
}

// do adds what a replay does for an operation once.
func (b *Builder) do(in Input, id uint32) error {
	e := &b.keys[id]
	present := e.size != absent
	switch in.Command {
	case Get:
		if in.Size > 0 && !in.Unknown {
			b.head.Hits++
		} else if !in.Unknown {
			b.head.Misses++
		}
		return b.write(Read, in, id, 0)
	case Fill:
		if err := b.write(Read, in, id, 0); err != nil || present {
			return err
		}
		b.head.Filled++
	case Remove:
		if b.NoDeletes {
			b.head.Skipped[in.Name]++
			return nil
		}
		e.size = absent
		return b.write(Delete, in, id, 0)
	case Set:
	case Add:
		present = !present
		fallthrough
	default:
		if !present && !(in.Command == Count && in.Unknown) {
			b.head.Skipped[in.Name]++
			return nil
		}
	}
	return b.put(in, id)
}

// put adds a write.
func (b *Builder) put(in Input, id uint32) error {
	e := &b.keys[id]
	kind := Update
	switch {
	case (in.Command == Swap || in.Command == Count) && e.size != absent && !b.PutOnly:
		kind = ReadModifyWrite
	case e.loaded == 0 && !e.wrote:
		kind = Insert
	}
	if in.Command == Append {
		in.Size += int(e.size)
	}
	if in.Expires {
		b.head.Expiring++
	}
	e.size, e.wrote = b.sized(in.Size), true
	b.head.ValueBytes += uint64(e.size)
	return b.write(kind, in, id, uint32(e.size))
}

// write writes an operation that an input's becomes.
func (b *Builder) write(kind uint8, in Input, id, size uint32) error {
	var op [opLen]byte
	binary.LittleEndian.PutUint32(op[0:], id)
	binary.LittleEndian.PutUint32(op[4:], size<<8|uint32(kind))
	binary.LittleEndian.PutUint32(op[8:], in.Tick)
	b.keys[id].ops++
	b.head.Kinds[kindNames[kind]]++
	became := b.head.Became[in.Name]
	became[kind]++
	b.head.Became[in.Name] = became
	b.head.Ops++
	_, err := b.out.Write(op[:])
	return err
}

// Close completes the file, given the SHA-256 of the input in hex, and returns its header. A
// trace without operations is an error.
func (b *Builder) Close(sha256 string) (Header, error) {
	defer b.Abort()
	if b.head.Ops == 0 {
		return b.head, errors.New("the input has no operation")
	}
	if err := b.out.Flush(); err != nil {
		return b.head, err
	}
	b.head.SHA256, b.head.Ticks = sha256, uint64(b.last)
	var order []uint32 // ids of the order of appearance
	for i, k := range b.keys {
		if k.ops > 0 { // else all that was done with it was skipped
			order = append(order, uint32(i))
			b.head.LiveBytes += uint64(max(0, k.size))
			b.head.KeyBytes += uint64(k.length)
		}
	}
	b.head.Keys = uint64(len(order))
	slices.SortFunc(order, func(x, y uint32) int {
		kx, ky := &b.keys[x], &b.keys[y]
		return cmp.Or(cmp.Compare(min(1, ky.loaded), min(1, kx.loaded)), cmp.Compare(ky.ops, kx.ops), cmp.Compare(x, y))
	})
	sum, err := b.renumber(order)
	if err != nil {
		return b.head, err
	}
	keys := make([]byte, 0, len(order)*keyLen)
	for _, was := range order {
		k := &b.keys[was]
		keys = binary.LittleEndian.AppendUint32(keys, k.ops)
		keys = binary.LittleEndian.AppendUint32(keys, uint32(k.loaded)<<8|uint32(k.length))
	}
	if b.Texts {
		keys = b.appendTexts(keys, order)
	}
	b.head.Sum = crc32.Update(sum, castagnoli, keys)
	if _, err := b.file.WriteAt(keys, headerLen+int64(b.head.Ops)*opLen); err != nil {
		return b.head, err
	}
	return b.head, b.publish()
}

// appendTexts appends where each key ends, and the keys, in an order.
func (b *Builder) appendTexts(keys []byte, order []uint32) []byte {
	for _, was := range order {
		text := b.keys[was].text
		b.head.Texts, b.head.Longest = b.head.Texts+uint64(len(text)), max(b.head.Longest, len(text))
		keys = binary.LittleEndian.AppendUint64(keys, b.head.Texts)
	}
	for _, was := range order {
		keys = append(keys, b.keys[was].text...)
	}
	return keys
}

// renumber gives the operations in the file the ids of an order, and returns their checksum.
func (b *Builder) renumber(order []uint32) (sum uint32, err error) {
	ids := make([]uint32, len(b.keys))
	for id, was := range order {
		ids[was] = uint32(id)
	}
	some := make([]byte, 1<<16*opLen)
	for at, left := int64(headerLen), int64(b.head.Ops)*opLen; left > 0; {
		some = some[:min(int64(len(some)), left)]
		if _, err := b.file.ReadAt(some, at); err != nil {
			return 0, err
		}
		for i := 0; i < len(some); i += opLen {
			binary.LittleEndian.PutUint32(some[i:], ids[binary.LittleEndian.Uint32(some[i:])])
		}
		if _, err := b.file.WriteAt(some, at); err != nil {
			return 0, err
		}
		sum = crc32.Update(sum, castagnoli, some)
		at, left = at+int64(len(some)), left-int64(len(some))
	}
	return sum, nil
}

// publish writes the header and gives the file its name.
func (b *Builder) publish() error {
	text, err := json.Marshal(b.head)
	if err != nil {
		return err
	}
	head := slices.Concat([]byte(magic), text)
	if len(head) > headerLen {
		return fmt.Errorf("the header has %d bytes: want at most %d (%d commands)", len(head), headerLen, len(slices.Collect(maps.Keys(b.head.Commands))))
	}
	for len(head) < headerLen {
		head = append(head, ' ')
	}
	if _, err := b.file.WriteAt(head, 0); err != nil {
		return err
	}
	if err := cmp.Or(b.file.Chmod(0o644), b.file.Close(), CheckReplaceable(b.path)); err != nil {
		return err
	}
	return os.Rename(b.file.Name(), b.path)
}

// Abort removes what is written so far. It does nothing after Close.
func (b *Builder) Abort() {
	_ = b.file.Close()
	_ = os.Remove(b.file.Name())
}
