// Package trace holds recorded streams of operations in a compiled form: a file that is mapped
// into memory and read in order.
//
// A file has three parts, in little-endian order:
//
//	0      the line "kvlab trace 2", the Header as JSON, and spaces up to headerLen bytes
//	4096   the operations, 12 bytes each: id uint32, kind uint8, size uint24, tick uint32
//	then   the keys by id, 8 bytes each: operations uint32, length uint8, loaded size uint24
//	then   if the file has the keys themselves, where each ends in what follows, 8 bytes each: uint64
//
// Ids number the keys. Keys that a replay loads come first, and in both groups the keys with the
// most operations.
package trace

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"hash/crc32"
	"os"
	"strings"
	"sync"
	"syscall"
)

// Version is the version of the file format.
const Version = 2

const (
	headerLen = 4096
	opLen     = 12
	keyLen    = 8
	endLen    = 8
)

// magic begins each file.
var magic = fmt.Sprintf("kvlab trace %d\n", Version)

// Limits of a trace.
const (
	LeastValue = 24      // bytes of a value that is sent: the header of a checked value
	MostValue  = 1 << 20 // bytes of a value, as kvs.MaxValueLen
	MostKey    = 255     // bytes of a key, as kvs.MaxKeyLen
)

// Header describes a trace.
type Header struct {
	Format string `json:"format"` // of the input, such as "twitter"
	SHA256 string `json:"sha256"` // of the input as it was read, in hex
	Sum    uint32 `json:"sum"`    // CRC-32C of what follows the header

	Ops      uint64            `json:"ops"`
	Kinds    map[string]uint64 `json:"kinds"`             // operations by what a replay does
	Commands map[string]uint64 `json:"commands"`          // operations of the input by its commands
	Skipped  map[string]uint64 `json:"skipped,omitempty"` // those that change nothing, such as an add of a present key

	Became map[string][len(kindNames)]uint64 `json:"became"` // what a replay does, by command and kind

	Filled uint64 `json:"filled,omitempty"` // writes that the input does not have: reads that missed fill the cache
	Hits   uint64 `json:"hits"`             // reads that found a value in the input
	Misses uint64 `json:"misses"`           // reads that found none there

	Texts       uint64 `json:"texts,omitempty"`   // bytes of the keys themselves; 0 of a file without them
	Longest     int    `json:"longest,omitempty"` // bytes of the longest of them
	Keys        uint64 `json:"keys"`
	Loaded      uint64 `json:"loaded"`               // keys that were read before they were written
	KeyBytes    uint64 `json:"key_bytes"`            // of all keys; 0 if the input does not tell
	LoadedBytes uint64 `json:"loaded_bytes"`         // of the loaded values, LeastValue bytes at least
	ValueBytes  uint64 `json:"value_bytes"`          // of all written values, likewise
	LiveBytes   uint64 `json:"live_bytes"`           // of the values that are there at the end, likewise
	Smaller     uint64 `json:"smaller,omitempty"`    // values with fewer than LeastValue bytes
	Larger      uint64 `json:"larger,omitempty"`     // values with more than MostValue bytes, which have MostValue
	Expiring    uint64 `json:"expiring,omitempty"`   // writes with a time to live, which a replay ignores
	Disordered  uint64 `json:"disordered,omitempty"` // operations with an earlier time than the one before them, which get its time

	TickNs int64  `json:"tick_ns"` // the unit of times; 0 if the input has none
	Ticks  uint64 `json:"ticks"`   // of the last operation, from the first one on
}

// SpanNs returns the time that the trace lasts, in nanoseconds; 0 without times. The last
// tick counts in full.
func (h *Header) SpanNs() int64 {
	if h.TickNs == 0 {
		return 0
	}
	return int64(h.Ticks+1) * h.TickNs
}

// kindNames are the kinds of operation of a file, by their numbers, which are those of
// workload.Kind. A file has no scans.
var kindNames = [...]string{"read", "update", "read-modify-write", "insert", "delete"}

// The kinds of operation.
const (
	Read uint8 = iota
	Update
	ReadModifyWrite
	Insert // the first write of a key that is not loaded
	Delete
)

// Op is an operation of a trace.
type Op struct {
	ID   uint32
	Kind uint8
	Size uint32 // bytes of the value that it writes; 0 for reads and deletes
	Tick uint32
}

// Trace is a compiled trace. It is immutable and safe for concurrent use.
type Trace struct {
	Header
	Path string
	ops  []byte
	keys []byte
	ends []byte // of the keys in texts; empty without them
	text []byte
}

// Op returns operation number i, from 0.
func (t *Trace) Op(i uint64) Op {
	b := t.ops[i*opLen:][:opLen]
	word := binary.LittleEndian.Uint32(b[4:])
	return Op{binary.LittleEndian.Uint32(b), uint8(word), word >> 8, binary.LittleEndian.Uint32(b[8:])}
}

// Key returns the number of operations of the key with an id, its length and the size of the
// value that it is loaded with, in bytes.
func (t *Trace) Key(id uint64) (ops uint32, length, loaded int) {
	b := t.keys[id*keyLen:][:keyLen]
	word := binary.LittleEndian.Uint32(b[4:])
	return binary.LittleEndian.Uint32(b), int(word & 0xff), int(word >> 8)
}

// Text returns the key with an id, of a trace with Texts. It is read-only.
func (t *Trace) Text(id uint64) []byte {
	from := uint64(0)
	if id > 0 {
		from = binary.LittleEndian.Uint64(t.ends[(id-1)*endLen:])
	}
	return t.text[from:binary.LittleEndian.Uint64(t.ends[id*endLen:])]
}

// opened are the traces of this process by their path, which stay mapped, and the files of
// those that lie elsewhere.
var opened = struct {
	sync.Mutex
	by    map[string]*Trace
	files map[string]string
}{by: make(map[string]*Trace), files: make(map[string]string)}

// Lies says in which file of this machine the trace of a path lies. It is called before Open.
func Lies(path, file string) {
	opened.Lock()
	defer opened.Unlock()
	opened.files[path] = file
}

// Open returns the trace of a file, which it checks as a whole. It maps a file once, for as
// long as the program runs. Its errors name the file.
func Open(path string) (*Trace, error) {
	opened.Lock()
	defer opened.Unlock()
	if t := opened.by[path]; t != nil {
		return t, nil
	}
	t, err := open(cmp.Or(opened.files[path], path))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	t.Path = path
	opened.by[path] = t
	return t, nil
}

func open(path string) (*Trace, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err.(*os.PathError).Err
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return nil, err
	}
	head, err := readHeader(file)
	if err != nil {
		return nil, err
	}
	if want := size(head); info.Size() != want {
		return nil, fmt.Errorf("the file has %d bytes, its header says %d: it is cut or damaged; import the trace again", info.Size(), want)
	}
	mapped, err := syscall.Mmap(int(file.Fd()), 0, int(info.Size()), syscall.PROT_READ, syscall.MAP_SHARED)
	if err != nil {
		return nil, fmt.Errorf("map: %w", err)
	}
	keysAt := headerLen + int(head.Ops)*opLen
	endsAt := keysAt + int(head.Keys)*keyLen
	t := &Trace{Header: head, ops: mapped[headerLen:keysAt], keys: mapped[keysAt:endsAt]}
	if head.Texts > 0 {
		textAt := endsAt + int(head.Keys)*endLen
		t.ends, t.text = mapped[endsAt:textAt], mapped[textAt:]
	}
	if err := t.check(mapped[headerLen:]); err != nil {
		_ = syscall.Munmap(mapped)
		return nil, err
	}
	return t, nil
}

// mostOps bounds the arithmetic on a header's numbers.
const mostOps = 1 << 40

// size returns the size of the file with a header.
func size(h Header) int64 {
	n := headerLen + int64(h.Ops)*opLen + int64(h.Keys)*keyLen
	if h.Texts > 0 {
		n += int64(h.Keys)*endLen + int64(h.Texts)
	}
	return n
}

// readHeader reads a file's header.
func readHeader(file *os.File) (h Header, err error) {
	text := make([]byte, headerLen)
	n, _ := file.ReadAt(text, 0)
	rest, ours := bytes.CutPrefix(text[:n], []byte(magic))
	if !ours {
		if strings.HasPrefix(string(text[:n]), "kvlab trace ") {
			return h, fmt.Errorf("the file has another format than version %d: import the trace again", Version)
		}
		return h, fmt.Errorf("no compiled trace: want a file that bin/kvsplot trace import wrote")
	}
	if err := json.Unmarshal(rest, &h); err != nil || h.Ops > mostOps || h.Keys > 1<<32 || h.Texts > h.Keys*MostKey || h.Loaded > h.Keys || h.TickNs < 0 {
		return h, fmt.Errorf("the header is damaged: import the trace again")
	}
	return h, nil
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// check checks what follows the header: its sum, and every number that a replay relies on.
func (t *Trace) check(body []byte) error {
	if crc32.Checksum(body, castagnoli) != t.Sum {
		return fmt.Errorf("the checksum differs: the file is damaged; import the trace again")
	}
	last := uint32(0)
	for i := range t.Ops {
		op := t.Op(i)
		if uint64(op.ID) >= t.Keys || int(op.Kind) >= len(kindNames) || op.Tick < last || uint64(op.Tick) > t.Ticks ||
			op.Size > MostValue || writes(op.Kind) != (op.Size >= LeastValue) {
			return fmt.Errorf("operation %d is none that kvlab writes: import the trace again", i)
		}
		last = op.Tick
	}
	for id, from := uint64(0), uint64(0); t.Texts > 0 && id < t.Keys; id++ {
		end := binary.LittleEndian.Uint64(t.ends[id*endLen:])
		if _, length, _ := t.Key(id); end != from+uint64(length) || length > t.Longest || end > t.Texts || id == t.Keys-1 && end != t.Texts {
			return fmt.Errorf("key %d is none that kvlab writes: import the trace again", id)
		}
		from = end
	}
	return nil
}

func writes(kind uint8) bool { return kind == Update || kind == ReadModifyWrite || kind == Insert }

// KindNames returns the names of the kinds by their numbers.
func KindNames() []string { return kindNames[:] }
