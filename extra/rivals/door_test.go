// Package rivals_test drives kvlab's door with the libraries that Go programs use for
// Redis: they are oracles of its protocol.
package rivals_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"net"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"
	"github.com/redis/rueidis"

	"kvlab/extra/door"
	"kvlab/internal/wiretest"
	"kvlab/kvs/engine"
	"kvlab/kvs/server"
	"kvlab/kvs/service"
	"kvlab/kvs/wire"
)

const password = "secret"

// serve serves an empty engine through a door, which wants the password.
func serve(t *testing.T, name string) (addr string) {
	t.Helper()
	e, err := engine.Open(name, engine.Options{})
	if err != nil {
		t.Fatal(err)
	}
	row, err := engine.Find(name)
	if err != nil {
		t.Fatal(err)
	}
	d := door.New(service.New(e), server.GatewayOptions{Password: password, Limits: wire.DefaultLimits(), Engine: name, Check: row.CheckKinds})
	return wiretest.Start(t, func(conn net.Conn) { _ = d.Serve(conn) }).Addr().String()
}

// pipeline sends commands at once and returns their replies.
type pipeline func(ctx context.Context, commands [][]string) ([]any, error)

// libraries open a client of a version of the protocol.
var libraries = map[string]func(t *testing.T, addr, password string, protocol int) (pipeline, error){
	"go-redis": openGoRedis, "rueidis": openRueidis,
}

func openGoRedis(t *testing.T, addr, password string, protocol int) (pipeline, error) {
	client := redis.NewClient(&redis.Options{Addr: addr, Password: password, Protocol: protocol, MaxRetries: -1})
	t.Cleanup(func() { _ = client.Close() })
	return func(ctx context.Context, commands [][]string) (replies []any, err error) {
		pipe := client.Pipeline()
		for _, words := range commands {
			args := make([]any, len(words))
			for i, word := range words {
				args[i] = word
			}
			pipe.Do(ctx, args...)
		}
		answers, err := pipe.Exec(ctx)
		if errors.Is(err, redis.Nil) { // of the first command without a value
			err = nil
		}
		for _, answer := range answers {
			replies = append(replies, answer.(*redis.Cmd).Val())
		}
		return replies, err
	}, client.Ping(t.Context()).Err()
}

func openRueidis(t *testing.T, addr, password string, protocol int) (pipeline, error) {
	client, err := rueidis.NewClient(rueidis.ClientOption{InitAddress: []string{addr}, Password: password,
		AlwaysRESP2: protocol == 2, DisableCache: true, DisableRetry: true, ForceSingleClient: true})
	if err != nil {
		return nil, err
	}
	t.Cleanup(client.Close)
	return func(ctx context.Context, commands [][]string) (replies []any, err error) {
		var built []rueidis.Completed
		for _, words := range commands {
			built = append(built, client.B().Arbitrary(words...).Build())
		}
		for _, result := range client.DoMulti(ctx, built...) {
			reply, failed := result.ToAny()
			if !rueidis.IsRedisNil(failed) {
				err = errors.Join(err, failed)
			}
			replies = append(replies, reply)
		}
		return replies, err
	}, nil
}

// model is a Redis in maps, which counts its commands and the keys that it looked up.
type model struct {
	texts  map[string]string
	hashes map[string]map[string]string
	calls  map[string]uint64
	found  map[bool]uint64
}

func (m *model) get(key string) any {
	text, ok := m.texts[key]
	m.found[ok]++
	if !ok {
		return nil
	}
	return text
}

// do returns the reply to a command, as plain makes it.
func (m *model) do(words []string) any {
	m.calls[strings.ToLower(words[0])]++
	key, rest := words[1], words[2:]
	fields := m.hashes[key]
	switch words[0] {
	case "GET":
		return m.get(key)
	case "SET", "MSET":
		for pair := range slices.Chunk(words[1:], 2) {
			m.texts[pair[0]] = pair[1]
		}
		return "OK"
	case "MGET":
		var all []any
		for _, key := range words[1:] {
			all = append(all, m.get(key))
		}
		return all
	case "HSET":
		before := len(fields)
		if fields == nil {
			fields = make(map[string]string)
			m.hashes[key] = fields
		}
		for pair := range slices.Chunk(rest, 2) {
			fields[pair[0]] = pair[1]
		}
		return int64(len(fields) - before)
	case "HMGET":
		m.found[fields != nil]++
		var all []any
		for _, field := range rest {
			if value, ok := fields[field]; ok {
				all = append(all, value)
			} else {
				all = append(all, nil)
			}
		}
		return all
	}
	m.found[fields != nil]++ // HGETALL
	return maps.Clone(fields)
}

// plain makes a library's reply to HGETALL a map: RESP2 has an array. Others stay.
func plain(command string, reply any) any {
	if command != "HGETALL" {
		return reply
	}
	all := make(map[string]string)
	switch reply := reply.(type) {
	case map[any]any:
		for field, value := range reply {
			all[field.(string)] = value.(string)
		}
	case map[string]any:
		for field, value := range reply {
			all[field] = value.(string)
		}
	case []any:
		for pair := range slices.Chunk(reply, 2) {
			all[pair[0].(string)] = pair[1].(string)
		}
	}
	if len(all) == 0 {
		return map[string]string(nil)
	}
	return all
}

// commands returns n random ones.
func commands(random *rand.Rand, n int) [][]string {
	key := func() string { return fmt.Sprintf("key%d", random.IntN(50)) }
	hash := func() string { return fmt.Sprintf("hash%d", random.IntN(20)) }
	field := func() string { return fmt.Sprintf("field%d", random.IntN(10)) }
	value := func() string { return strings.Repeat(string(rune('a'+random.IntN(26))), random.IntN(200)) + "\r\n" }
	all := make([][]string, n)
	for i := range all {
		switch random.IntN(7) {
		case 0:
			all[i] = []string{"GET", key()}
		case 1:
			all[i] = []string{"SET", key(), value()}
		case 2:
			all[i] = []string{"MGET", key(), key(), key()}
		case 3:
			all[i] = []string{"MSET", key(), value(), key(), value()}
		case 4:
			all[i] = []string{"HSET", hash(), field(), value(), field(), value()}
		case 5:
			all[i] = []string{"HMGET", hash(), field(), field()}
		default:
			all[i] = []string{"HGETALL", hash()}
		}
	}
	return all
}

var (
	called   = regexp.MustCompile(`cmdstat_(\w+):calls=(\d+)`)
	lookedUp = regexp.MustCompile(`keyspace_(hits|misses):(\d+)`)
)

// The replies to pipelines are a model's, and so are the door's counters.
func TestPipelines(t *testing.T) {
	for name, open := range libraries {
		for _, protocol := range []int{2, 3} {
			t.Run(fmt.Sprintf("%s RESP%d", name, protocol), func(t *testing.T) {
				do, err := open(t, serve(t, "slab"), password, protocol)
				if err != nil {
					t.Fatal(err)
				}
				const seed = 20261122
				t.Logf("seed %d", seed)
				random := rand.New(rand.NewPCG(seed, uint64(protocol)))
				m := model{map[string]string{}, map[string]map[string]string{}, map[string]uint64{}, map[bool]uint64{}}
				for range 30 {
					sent := commands(random, 1+random.IntN(200))
					replies, err := do(t.Context(), sent)
					if err != nil || len(replies) != len(sent) {
						t.Fatalf("%d replies to %d commands, %v", len(replies), len(sent), err)
					}
					for i, words := range sent {
						if got, want := plain(words[0], replies[i]), m.do(words); !reflect.DeepEqual(got, want) {
							t.Fatalf("%q: %#v, want %#v", words, got, want)
						}
					}
				}
				checkCounters(t, do, &m)
			})
		}
	}
}

// checkCounters compares the door's counters with a model's.
func checkCounters(t *testing.T, do pipeline, m *model) {
	t.Helper()
	replies, err := do(t.Context(), [][]string{{"INFO", "commandstats", "stats"}})
	if err != nil {
		t.Fatal(err)
	}
	calls := make(map[string]string)
	for _, match := range called.FindAllStringSubmatch(replies[0].(string), -1) {
		calls[match[1]] = match[2]
	}
	for command, n := range m.calls {
		if calls[command] != fmt.Sprint(n) {
			t.Errorf("the door counts %s calls of %s, want %d", calls[command], command, n)
		}
	}
	keys := lookedUp.FindAllStringSubmatch(replies[0].(string), -1)
	for i, ok := range []bool{true, false} {
		if len(keys) != 2 || keys[i][2] != fmt.Sprint(m.found[ok]) {
			t.Errorf("the door counts keys %q, want %v", keys, m.found)
		}
	}
}

// A wrong password is refused in the libraries' terms.
func TestWrongPassword(t *testing.T) {
	for name, open := range libraries {
		if _, err := open(t, serve(t, "syncmap"), "wrong", 3); err == nil || !strings.Contains(err.Error(), "WRONGPASS") {
			t.Errorf("%s: error %v, want WRONGPASS", name, err)
		}
	}
}
