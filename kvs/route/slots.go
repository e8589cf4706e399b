package route

import (
	"bytes"
	"fmt"
	"math"
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
	r := new(slotsRouter)
	for server := range servers {
		first, last := SlotsOf(server, servers)
		for slot := first; slot <= last; slot++ {
			r[slot] = uint16(server)
		}
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
