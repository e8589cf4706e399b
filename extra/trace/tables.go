package trace

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"kvlab/workload/trace"
)

// named is a command of an input.
type named struct {
	name    string
	command trace.Command
}

// commands are those of Twitter's and Meta's tables, in lower case.
var commands = func() map[string]named {
	all := make(map[string]named)
	for command, names := range map[trace.Command]string{
		trace.Get: "get gets get_lease", trace.Set: "set set_lease", trace.Add: "add", trace.Replace: "replace",
		trace.Swap: "cas", trace.Append: "append prepend", trace.Count: "incr decr", trace.Remove: "delete",
	} {
		for name := range strings.FieldsSeq(names) {
			all[name] = named{name, command}
			all[strings.ToUpper(name)] = named{name, command}
		}
	}
	return all
}()

// A Twitter line (github.com/twitter/cache-trace) has 7 columns. Keys may have commas in them.
var twitterColumns = []string{"op_time", "key", "key_size", "size", "client", "op", "ttl"}

func (r *reader) twitter(line []byte) error {
	r.columns = twitterColumns
	return r.row(line)
}

// Meta's tables (CacheLib's kvcache traces of June 2022 and January 2024) have a header, which
// is missing in a part of a table.
var metaColumns = [][]string{
	{"key", "op", "size", "op_count", "key_size"},
	{"op_time", "key", "key_size", "op", "op_count", "size", "cache_hits", "ttl", "usecase", "sub_usecase"},
}

func (r *reader) meta(line []byte) error {
	if r.columns != nil {
		return r.row(line)
	}
	words := strings.Split(string(line), ",")
	if slices.Contains(words, "key") && slices.Contains(words, "op") && slices.Contains(words, "key_size") && slices.Contains(words, "size") {
		r.columns = words
		return nil
	}
	for _, columns := range metaColumns {
		if r.columns = columns; r.row(line) == nil {
			return nil
		}
	}
	r.columns = nil
	return fmt.Errorf("no line of Meta's tables: want the columns %s, or %s", strings.Join(metaColumns[0], ","), strings.Join(metaColumns[1], ","))
}

// mostTimes bounds the operations of a line, which is of one second.
const mostTimes = 1e8

// row adds a line of a table. What stands behind the key is split off from the right.
func (r *reader) row(line []byte) error {
	in, key := trace.Input{Times: 1}, slices.Index(r.columns, "key")
	var command []byte
	behind := len(r.columns) - key - 1
	set := func(column string, text []byte) (err error) {
		n := uint64(0)
		switch column {
		case "op":
			command = text
		case "op_time":
			if n, err = number("time", text, math.MaxUint32*1000); err == nil {
				err = r.at(n)
			}
		case "key_size":
			n, err = number("key size", text, trace.MostKey)
			in.Length = int(n)
		case "size":
			n, err = number("value size", text, math.MaxInt32)
			in.Size = int(n)
		case "op_count":
			n, err = number("op_count", text, mostTimes)
			in.Times = int(n)
		case "ttl":
			if len(text) > 0 && text[0] == '-' {
				text = text[1:]
			}
			n, err = number("TTL", text, 1e15)
			in.Expires = n > 0
		}
		return err
	}
	missing := func() error { return fmt.Errorf("fewer columns than %s", strings.Join(r.columns, ",")) }
	for _, column := range r.columns[:key] {
		text, rest, ok := bytes.Cut(line, []byte(","))
		if !ok {
			return missing()
		}
		if err := set(column, text); err != nil {
			return err
		}
		line = rest
	}
	for i := range behind {
		at := bytes.LastIndexByte(line, ',')
		if at < 0 {
			return missing()
		}
		if err := set(r.columns[len(r.columns)-1-i], line[at+1:]); err != nil {
			return err
		}
		line = line[:at]
	}
	c, ok := commands[string(command)]
	switch {
	case !ok:
		return fmt.Errorf("operation %q: want a command of memcached, such as get, set or delete", command)
	case len(line) == 0 || in.Length == 0:
		return errors.New("an empty key")
	case in.Times == 0:
		return errors.New("op_count 0: want 1 or more")
	}
	in.Key, in.Command, in.Name, in.Tick = line, c.command, c.name, r.tick
	return r.b.Add(in)
}

// oracle adds a record of libCacheSim's oracleGeneral: seconds uint32, id uint64, size uint32,
// number of the next request of the object int64, -1 for none.
func (r *reader) oracle(record []byte) error {
	if len(record) < 24 {
		return errors.New("it is cut off")
	}
	le := binary.LittleEndian
	if err := r.at(uint64(le.Uint32(record))); err != nil {
		return err
	}
	if after := int64(le.Uint64(record[16:])); after == 0 || after < -1 {
		return fmt.Errorf("next request %d: want a number above 0, or -1 (is the file oracleGeneral?)", after)
	}
	return r.b.Add(trace.Input{Command: trace.Fill, Name: "request", Key: record[4:12], Size: int(le.Uint32(record[12:])), Times: 1, Tick: r.tick})
}

// txt adds a line that is a key. A read of an absent key writes it.
func (r *reader) txt(line []byte) error {
	if len(line) == 0 {
		return errors.New("an empty key")
	}
	return r.b.Add(trace.Input{Command: trace.Fill, Name: "read", Key: line, Length: len(line), Size: r.size, Times: 1})
}
