package route

import (
	"bytes"
	"fmt"
	"math"
	"slices"
	"strings"
)

// Slots is the name of the router of Redis Cluster.
const Slots = "slots"

// clusterSlots is the number of slots of a Redis Cluster.
const clusterSlots = 1 << 14

// slotsRouter is the servers of the slots.
type slotsRouter [clusterSlots]uint16

func newSlots(servers int, _ Popularity) (Router, error) {
	if servers > clusterSlots {
		return nil, fmt.Errorf("-router %s: %d servers; at most %d", Slots, servers, clusterSlots)
	}
	return evenSlots(servers).router()
}

// SlotTable is each server's ranges of slots, with both ends, in order.
type SlotTable [][][2]int

func evenSlots(servers int) (t SlotTable) {
	for server := range servers {
		first, last := SlotsOf(server, servers)
		t = append(t, [][2]int{{first, last}})
	}
	return t
}

// ParseSlots returns the table that String names, of a number of servers.
func ParseSlots(name string, servers int) (SlotTable, error) {
	text, uneven := strings.CutPrefix(name, Slots+":")
	if !uneven {
		return evenSlots(servers), nil
	}
	var t SlotTable
	for part := range strings.SplitSeq(text, "/") {
		var ranges [][2]int
		for text := range strings.SplitSeq(part, "+") {
			var r [2]int
			if _, err := fmt.Sscanf(text, "%d-%d", &r[0], &r[1]); err != nil || r[0] < 0 || r[1] >= clusterSlots {
				return nil, fmt.Errorf("%q: want ranges of slots such as 0-99, up to %d", text, clusterSlots-1)
			}
			ranges = append(ranges, r)
		}
		t = append(t, ranges)
	}
	if len(t) != servers {
		return nil, fmt.Errorf("it has the slots of %d servers, want %d", len(t), servers)
	}
	return t, nil
}

// String returns the name of the table's router: Slots of what SlotsOf gives each server, and
// slots:0-99+200-16383/100-199 of any other.
func (t SlotTable) String() string {
	if slices.EqualFunc(t, evenSlots(len(t)), slices.Equal) {
		return Slots
	}
	parts := make([]string, len(t))
	for server, ranges := range t {
		parts[server] = RangesText(ranges)
	}
	return Slots + ":" + strings.Join(parts, "/")
}

// RangesText returns ranges of slots, such as 0-99+200-16383.
func RangesText(ranges [][2]int) string {
	var texts []string
	for _, r := range ranges {
		texts = append(texts, fmt.Sprintf("%d-%d", r[0], r[1]))
	}
	return strings.Join(texts, "+")
}

// router returns the table's router. Each slot must have one server.
func (t SlotTable) router() (Router, error) {
	r, owners := new(slotsRouter), new([clusterSlots]int)
	for server, ranges := range t {
		for _, owned := range ranges {
			for slot := owned[0]; slot <= owned[1]; slot++ {
				r[slot] = uint16(server)
				owners[slot]++
			}
		}
	}
	if slot := slices.IndexFunc(owners[:], func(n int) bool { return n != 1 }); slot >= 0 {
		return nil, fmt.Errorf("slot %d has %d servers, want one", slot, owners[slot])
	}
	return r, nil
}

func (r *slotsRouter) Server(key []byte, _ uint64) int { return int(r[keySlot(key)]) }

// SlotsOf returns the first and the last slot of a server, a master of a Redis Cluster.
// redis-cli --cluster create splits the slots so, in single precision
// (clusterManagerCommandCreate in redis-cli.c).
func SlotsOf(server, servers int) (first, last int) {
	each, cursor := clusterSlots/float32(servers), float32(0)
	for i := range server + 1 {
		first = last + min(i, 1)
		last = max(int(math.Round(float64(cursor+each-1))), first)
		cursor += each
	}
	if server == servers-1 {
		last = clusterSlots - 1
	}
	return first, last
}

// keySlot returns a key's slot. If the key has a hash tag, a part in braces that is not
// empty, the tag alone determines it (Redis Cluster specification, "Hash tags").
func keySlot(key []byte) int {
	if open := bytes.IndexByte(key, '{'); open >= 0 {
		if n := bytes.IndexByte(key[open+1:], '}'); n > 0 {
			key = key[open+1 : open+1+n]
		}
	}
	crc := uint16(0)
	for _, c := range key {
		crc = crc<<8 ^ crcTable[byte(crc>>8)^c]
	}
	return int(crc % clusterSlots)
}

// crcTable is of the CRC-16 with the polynomial x^16 + x^12 + x^5 + 1, which starts with 0
// (CRC-16/XMODEM).
var crcTable = func() (table [1 << 8]uint16) {
	for i := range table {
		crc := uint16(i) << 8
		for range 8 {
			carry := crc >> 15
			crc = crc<<1 ^ carry*0x1021
		}
		table[i] = crc
	}
	return table
}()
