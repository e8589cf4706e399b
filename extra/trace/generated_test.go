package trace

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
)

// made is an operation that a generator made, as the published form of a format tells it.
type made struct {
	name  string
	key   string
	size  int // of a read 0 if it found nothing
	times int
	ttl   int
	at    int
}

// effect is what a replay does for an operation.
type effect struct {
	kind, key string
	size      int
	at        int
}

// replayed computes what a replay does, with a plain map.
func replayed(ops []made, fills, redis bool) (all []effect) {
	type state struct {
		size          int
		there, loaded bool
		wrote         bool
	}
	keys := map[string]*state{}
	for _, op := range ops {
		for range max(1, op.times) {
			k := keys[op.key]
			if k == nil {
				k = new(state)
				keys[op.key] = k
				if reads[op.name] && op.size > 0 && !fills {
					k.there, k.loaded, k.size = true, true, max(24, op.size)
				}
			}
			put := func(size int) {
				kind := "update"
				if !k.loaded && !k.wrote {
					kind = "insert"
				} else if (op.name == "cas" || op.name == "incr" || op.name == "decr") && k.there {
					kind = "read-modify-write"
				}
				k.there, k.wrote, k.size = true, true, min(max(24, size), 1<<20)
				all = append(all, effect{kind, op.key, k.size, op.at})
			}
			switch op.name {
			case "get", "gets", "get_lease":
				all = append(all, effect{"read", op.key, 0, op.at})
				if fills && !k.there {
					put(op.size)
				}
			case "delete", "del":
				all = append(all, effect{"delete", op.key, 0, op.at})
				k.there = false
			case "set":
				put(op.size)
			case "add":
				if !k.there {
					put(op.size)
				}
			case "append", "prepend":
				if k.there {
					put(k.size + op.size)
				}
			case "replace", "cas":
				if k.there {
					put(op.size)
				}
			case "incr", "decr":
				if k.there || redis {
					put(op.size)
				}
			default:
				panic(op.name)
			}
		}
	}
	return all
}

var reads = map[string]bool{"get": true, "gets": true, "get_lease": true}

// generated draws operations of some commands on keys that have delimiters in them.
func generated(r *rand.Rand, n int, commands ...string) (ops []made) {
	now := 1_583_990_400
	for range n {
		now += r.IntN(5) / 4
		number := int(r.ExpFloat64() * 20)
		key := fmt.Sprintf("k%d%s", number, []string{"", ",a", ",", "\"q", " s", ",1,2,get,0"}[number%6])
		op := made{name: commands[r.IntN(len(commands))], key: key, times: 1, at: now - 1_583_990_400}
		if op.size = r.IntN(300); reads[op.name] && r.IntN(3) == 0 {
			op.size = 0
		}
		if !reads[op.name] && op.name[0] != 'd' {
			op.size++
			op.ttl = r.IntN(2) * 3600
		}
		ops = append(ops, op)
	}
	return ops
}

// form is the published form of a format.
type form struct {
	format, name string
	fills, redis bool
	ops          func(*rand.Rand, int) []made
	write        func([]made) string
}

var forms = []form{
	{"twitter", "twitter", false, false, func(r *rand.Rand, n int) []made {
		return generated(r, n, "get", "get", "gets", "set", "add", "replace", "cas", "append", "prepend", "delete", "incr", "decr")
	}, func(ops []made) string {
		return rows(ops, "\n", func(op made) string {
			return fmt.Sprintf("%d,%s,%d,%d,%d,%s,%d", 1_583_990_400+op.at, op.key, len(op.key), op.size, op.at%7, op.name, op.ttl)
		})
	}},
	{"meta", "meta of 2022, CR LF", false, false, func(r *rand.Rand, n int) []made {
		ops := generated(r, n, "get", "get", "set")
		for i := range ops {
			ops[i].times, ops[i].at, ops[i].ttl = 1+r.IntN(4), 0, 0
		}
		return ops
	}, func(ops []made) string {
		return "key,op,size,op_count,key_size\r\n" + rows(ops, "\r\n", func(op made) string {
			return fmt.Sprintf("%s,%s,%d,%d,%d", op.key, strings.ToUpper(op.name), op.size, op.times, len(op.key))
		})
	}},
	{"meta", "meta of 2024, without header", false, false, func(r *rand.Rand, n int) []made {
		ops := generated(r, n, "get", "get_lease", "set", "delete")
		for i := range ops {
			ops[i].times = 1 + r.IntN(4)
		}
		return ops
	}, func(ops []made) string {
		return rows(ops, "\n", func(op made) string {
			return fmt.Sprintf("%d,%s,%d,%s,%d,%d,%d,%d,3,12", 1_583_990_400+op.at, op.key, len(op.key), strings.ToUpper(op.name), op.times, op.size, 1, op.ttl)
		})
	}},
	{"monitor", "monitor behind a proxy", false, true, func(r *rand.Rand, n int) []made {
		ops := generated(r, n, "get", "get", "set", "append", "del", "incr")
		for i := range ops {
			if op := &ops[i]; op.name == "get" || op.name == "incr" {
				op.size = 77 // -value-size
			}
		}
		return ops
	}, func(ops []made) string {
		return "OK\r\n" + rows(ops, "\n", func(op made) string {
			who, prefix := "10.0.0.7:5170", ""
			if op.size%9 == 0 {
				who = "lua"
			}
			if op.size%5 == 0 {
				prefix = "proxy-1: "
			}
			line := fmt.Sprintf(`%s%d.104200 [0 %s] "%s" %s`, prefix, 1_583_990_400+op.at, who, strings.ToUpper(op.name), strconv.Quote(op.key))
			if op.name == "set" || op.name == "append" {
				line += ` "` + strings.Repeat(`\x00`, op.size) + `"`
			}
			if op.ttl > 0 && op.name == "set" {
				line += ` "EX" "3600"`
			}
			return line
		}) + "1583999999.000001 [0 10.0.0.7:5170] \"hset\" \"h\" \"f\" \"v\"\n"
	}},
	{"oracle", "oracle", true, false, func(r *rand.Rand, n int) []made {
		ops := generated(r, n, "get")
		for i := range ops {
			ops[i].key = string(binary.LittleEndian.AppendUint64(nil, uint64(ops[i].key[1])<<40+uint64(len(ops[i].key))))
		}
		return ops
	}, func(ops []made) string {
		var text []byte
		for i, op := range ops {
			text = binary.LittleEndian.AppendUint32(text, uint32(1_583_990_400+op.at))
			text = append(text, op.key...)
			text = binary.LittleEndian.AppendUint32(text, uint32(op.size))
			next := int64(-1)
			if i%2 == 0 {
				next = int64(i + 1)
			}
			text = binary.LittleEndian.AppendUint64(text, uint64(next))
		}
		return string(text)
	}},
	{"txt", "txt", true, false, func(r *rand.Rand, n int) []made {
		ops := generated(r, n, "get")
		for i := range ops {
			ops[i].size, ops[i].at = 77, 0
		}
		return ops
	}, func(ops []made) string { return rows(ops, "\n", func(op made) string { return op.key }) }},
}

func rows(ops []made, end string, row func(made) string) string {
	var text strings.Builder
	for _, op := range ops {
		text.WriteString(row(op) + end)
	}
	return text.String()
}
