package trace

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"

	"kvlab/workload/trace"
)

// monitor adds a line of Redis's MONITOR:
//
//	1764000000.104200 [0 10.0.0.7:5170] "set" "key" "value"
//
// A proxy may have put text before the time. Lines without the brackets, such as the first
// one, OK, are none of commands.
func (r *reader) monitor(line []byte) error {
	if len(line) == 0 || string(line) == "OK" || string(line) == "+OK" {
		return nil
	}
	head, rest, ok := bytes.Cut(line, []byte(" ["))
	_, rest, closed := bytes.Cut(rest, []byte("] "))
	if !ok || !closed {
		return errors.New(`no line of MONITOR: want SECONDS.MICROSECONDS [DB CLIENT] "command" "key" and its arguments`)
	}
	time := bytes.TrimPrefix(head[bytes.LastIndexByte(head, ' ')+1:], []byte("+"))
	seconds, micros, ok := bytes.Cut(time, []byte("."))
	s, err := number("seconds", seconds, math.MaxUint32)
	us, wrong := number("microseconds", micros, 999_999)
	if err != nil || wrong != nil || !ok || len(micros) != 6 {
		return fmt.Errorf("time %q: want seconds, a point and six digits", time)
	}
	if err := r.at(s*1e4 + us/100); err != nil {
		return err
	}
	words, err := unquote(string(rest))
	if err != nil {
		return err
	}
	return r.redis(strings.ToLower(words[0]), words[1:])
}

// unquote returns the words of a line, which have quotes and the escapes of Redis's sdscatrepr.
func unquote(line string) (words []string, err error) {
	for line != "" {
		quoted, err := strconv.QuotedPrefix(line)
		if err != nil || quoted[0] != '"' {
			return nil, fmt.Errorf("words %.40s: want each in quotes", line)
		}
		word, err := strconv.Unquote(quoted)
		if err != nil {
			return nil, fmt.Errorf("word %.40s: %w", quoted, err)
		}
		words = append(words, word)
		if line = line[len(quoted):]; line != "" && line[0] != ' ' {
			return nil, fmt.Errorf("words %.40s: want a space before it", line)
		}
		line = strings.TrimPrefix(line, " ")
	}
	if len(words) == 0 {
		return nil, errors.New("no command")
	}
	return words, nil
}

// redisCommand says what a command of Redis does with its keys.
type redisCommand struct {
	command trace.Command
	least   int // words behind its name
	each    int // words from one key to the next; 0 for one key
	value   int // the number of the word with the value, from the key on; 0 for none
}

var redisCommands = map[string]redisCommand{
	"get": {trace.Get, 1, 0, 0}, "getex": {trace.Get, 1, 0, 0}, "mget": {trace.Get, 1, 1, 0},
	"set": {trace.Set, 2, 0, 1}, "setex": {trace.Set, 3, 0, 2}, "psetex": {trace.Set, 3, 0, 2},
	"mset": {trace.Set, 2, 2, 1}, "setnx": {trace.Add, 2, 0, 1}, "append": {trace.Append, 2, 0, 1},
	"getset": {trace.Count, 2, 0, 1}, "incr": {trace.Count, 1, 0, 0}, "decr": {trace.Count, 1, 0, 0},
	"incrby": {trace.Count, 2, 0, 0}, "decrby": {trace.Count, 2, 0, 0}, "incrbyfloat": {trace.Count, 2, 0, 0},
	"del": {trace.Remove, 1, 1, 0}, "unlink": {trace.Remove, 1, 1, 0}, "getdel": {trace.Remove, 1, 0, 0},
}

// redis adds a command. Those that are about no string are counted, and left out.
func (r *reader) redis(name string, words []string) error {
	c, ok := redisCommands[name]
	if !ok {
		r.b.Skip("other")
		return nil
	}
	if len(words) < c.least || c.each > 0 && len(words)%c.each > 0 {
		return fmt.Errorf("%s with %d words behind it", name, len(words))
	}
	in := trace.Input{Command: c.command, Name: name, Times: 1, Tick: r.tick, Unknown: true, Expires: strings.HasSuffix(name, "setex")}
	if name == "set" {
		for _, option := range words[2:] {
			switch strings.ToLower(option) {
			case "nx":
				in.Command = trace.Add
			case "xx":
				in.Command = trace.Replace
			case "ex", "px", "exat", "pxat":
				in.Expires = true
			}
		}
	}
	for len(words) > 0 {
		in.Key, in.Length, in.Size = []byte(words[0]), len(words[0]), r.size
		if c.value > 0 {
			in.Size = len(words[c.value])
		}
		if len(in.Key) == 0 {
			return errors.New("an empty key")
		}
		if err := r.b.Add(in); err != nil || c.each == 0 {
			return err
		}
		words = words[c.each:]
	}
	return nil
}
