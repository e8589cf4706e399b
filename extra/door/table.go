package door

import (
	"bytes"
	"fmt"

	"kvlab/kvs"
)

// row is a command.
type row struct {
	name   string
	args   int  // with the name: exactly so many, or at least -args
	open   bool // to clients that have not given the password
	kinds  []kvs.Kind
	run    func(c *conn, row *row, args int) // executes it; if there is an answer, adds its operations
	answer func(c *conn, p *pending, r *kvs.Result)
	index  int
}

var (
	get    = []kvs.Kind{kvs.Get}
	put    = []kvs.Kind{kvs.Put}
	getPut = []kvs.Kind{kvs.Get, kvs.Put}
)

// commands is the number of commands.
const commands = 25

// table are the commands.
var table = [commands]row{
	{name: "get", args: 2, kinds: get, run: keys(kvs.Get), answer: (*conn).answerGet},
	{name: "set", args: -3, kinds: []kvs.Kind{kvs.Put, kvs.ReadModifyWrite}, run: set, answer: (*conn).answerOK},
	{name: "mget", args: -2, kinds: get, run: keys(kvs.Get), answer: (*conn).answerMGet},
	{name: "mset", args: -3, kinds: put, run: mset, answer: (*conn).answerOK},
	{name: "del", args: -2, kinds: []kvs.Kind{kvs.Delete}, run: keys(kvs.Delete), answer: (*conn).answerDel},
	{name: "exists", args: -2, kinds: get, run: keys(kvs.Get), answer: (*conn).answerExists},
	{name: "strlen", args: 2, kinds: get, run: keys(kvs.Get), answer: (*conn).answerStrlen},
	{name: "type", args: 2, kinds: get, run: keys(kvs.Get), answer: (*conn).answerType},
	{name: "hset", args: -4, kinds: getPut, run: hset},
	{name: "hmset", args: -4, kinds: getPut, run: hset},
	{name: "hmget", args: -3, kinds: get, run: hmget},
	{name: "hgetall", args: 2, kinds: get, run: hgetall},

	{name: "ping", args: -1, run: ping},
	{name: "echo", args: 2, run: echo},
	{name: "quit", args: -1, open: true, run: quit},
	{name: "auth", args: -2, open: true, run: auth},
	{name: "hello", args: -1, open: true, run: hello},
	{name: "select", args: 2, run: selectDB},
	{name: "client", args: -2, run: client},

	{name: "command", args: -1, run: command},
	{name: "config", args: -2, run: config},
	{name: "info", args: -1, run: info},
	{name: "dbsize", args: 1, run: dbsize},
	{name: "time", args: 1, run: clock},
	{name: "cluster", args: -2, run: cluster},
}

// setGet is set with the option GET.
var setGet = row{name: "set", args: -3, answer: (*conn).answerGet}

// byName are the commands by word of their names.
var byName = func() map[uint64]*row {
	all := make(map[uint64]*row, len(table))
	for i := range table {
		table[i].index = i
		all[word([]byte(table[i].name))] = &table[i]
		if table[i].name == setGet.name {
			setGet.index = i
		}
	}
	return all
}()

// stat returns the command's name in INFO. Redis counts subcommands apart.
func (r *row) stat() string {
	if r.name == "config" {
		return "config|get"
	}
	return r.name
}

// word packs a name of up to 8 bytes, in lower case; 0 for others.
func word(name []byte) (w uint64) {
	if len(name) > 8 {
		return 0
	}
	for _, b := range name {
		if 'A' <= b && b <= 'Z' {
			b += 'a' - 'A'
		}
		w = w<<8 | uint64(b)
	}
	return w
}

// find returns the command of a name in any case; nil if there is none.
func find(name []byte) *row { return byName[word(name)] }

// is reports whether an argument is a word, in any case.
func (c *conn) is(arg int, word string) bool {
	return bytes.EqualFold(c.commands.Arg(arg), []byte(word))
}

// beginnings quotes the first arguments, for the error of an unknown command.
func (c *conn) beginnings(args int) (text string) {
	for i := 1; i < args && len(text) < 128; i++ {
		text += fmt.Sprintf("'%.*s' ", 128-len(text), c.commands.Arg(i))
	}
	return text
}
