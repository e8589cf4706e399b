package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/magiconair/properties"
	"github.com/pingcap/go-ycsb/pkg/prop"
	"github.com/pingcap/go-ycsb/pkg/util"
	"github.com/pingcap/go-ycsb/pkg/ycsb"

	"kvlab/kvs"
	"kvlab/kvs/driver"
	"kvlab/kvs/route"
)

func init() { ycsb.RegisterDBCreator("kvlab", creator{}) }

type creator struct{}

// hosts is the property with the servers' addresses, with commas between them.
const hosts = "kvlab.hosts"

func (creator) Create(p *properties.Properties) (ycsb.DB, error) {
	o := driver.DefaultOptions()
	o.Node = "go-ycsb"
	o.Hosts = strings.Split(p.GetString(hosts, o.Hosts[0]), ",")
	router, err := route.New(route.Names[0], len(o.Hosts), nil)
	if err != nil {
		return nil, err
	}
	u := driver.Use{CallsInFlight: 1, Router: route.Names[0], Owners: route.Fingerprint(router), Kinds: []kvs.Kind{kvs.Get, kvs.Put, kvs.Insert, kvs.Delete}}
	if p.GetFloat64(prop.ScanProportion, prop.ScanProportionDefault) > 0 {
		u.Kinds = append(u.Kinds, kvs.Scan, kvs.ScanPart)
	}
	if err := o.Validate(u); err != nil {
		return nil, err
	}
	d, err := driver.Open(o, u)
	if err != nil {
		return nil, err
	}
	db := &database{driver: d, router: router, servers: len(o.Hosts), rows: util.NewRowCodec(p),
		fields: p.GetInt(prop.FieldCount, int(prop.FieldCountDefault))}
	first := db.connect(context.Background()) // its error, which InitThread cannot return
	return db, errors.Join(first.err, first.close())
}

// database is go-ycsb's view of kvlab's servers. The value of a record's key is all of its
// fields. It does not check what it reads.
type database struct {
	driver  driver.Driver
	router  route.Router
	servers int
	rows    *util.RowCodec
	fields  int // of a record

	mu    sync.Mutex
	lanes int // guarded by mu
}

func (d *database) Close() error { return d.driver.Close() }

// thread is a thread's connections, or why it has none.
type thread struct {
	conns []driver.Conn
	calls []kvs.Call
	err   error
}

type threadKey struct{}

func (d *database) InitThread(ctx context.Context, _, _ int) context.Context {
	return context.WithValue(ctx, threadKey{}, d.connect(ctx))
}

func (d *database) CleanupThread(ctx context.Context) {
	_ = ctx.Value(threadKey{}).(*thread).close() // no call is in flight
}

// connect connects a thread to all servers.
func (d *database) connect(ctx context.Context) *thread {
	d.mu.Lock()
	defer d.mu.Unlock()
	t := &thread{calls: make([]kvs.Call, d.servers)}
	for i := range t.calls {
		t.calls[i] = kvs.Call{Batch: new(kvs.Batch), Reply: new(kvs.Reply)}
		conn, _, err := d.driver.Dial(ctx, i, d.lanes)
		if err != nil {
			t.err = errors.Join(t.err, err)
			continue
		}
		t.conns = append(t.conns, conn)
	}
	d.lanes++
	return t
}

func (t *thread) close() (err error) {
	for _, conn := range t.conns {
		err = errors.Join(err, conn.Close())
	}
	return err
}

// call makes the calls whose batches fill appends to.
func (t *thread) call(fill func(calls []kvs.Call)) error {
	if t.err != nil {
		return t.err
	}
	for i := range t.calls {
		t.calls[i].Batch.Reset()
	}
	fill(t.calls)
	for i, conn := range t.conns {
		if t.calls[i].Batch.Len() > 0 {
			conn.Send(&t.calls[i])
		}
	}
	var err error
	for i, conn := range t.conns {
		if t.calls[i].Batch.Len() > 0 {
			err = errors.Join(err, conn.Wait(&t.calls[i]))
		}
	}
	return err
}

// do executes one operation of a kind on each key, and calls found with the results of
// those that read, which refer to the replies.
func (d *database) do(ctx context.Context, kind kvs.Kind, table string, keys []string, values [][]byte, found func(i int, row []byte) error) error {
	t := ctx.Value(threadKey{}).(*thread)
	owners := make([]int, len(keys))
	err := t.call(func(calls []kvs.Call) {
		for i, name := range keys {
			key := keyOf(table, name)
			owners[i] = d.router.Server(key, route.Hash(key))
			batch := calls[owners[i]].Batch
			switch {
			case kind == kvs.Get:
				batch.Get(key)
			case kind == kvs.Delete:
				batch.Delete(key)
			default:
				batch.Append(kind, key, values[i])
			}
		}
	})
	if err != nil {
		return err
	}
	results := make([]kvs.Results, d.servers)
	for i := range results {
		results[i] = t.calls[i].Reply.Results()
	}
	for i, owner := range owners {
		result, err := results[owner].Next()
		if err == nil && kind == kvs.Get {
			if !result.Found {
				return fmt.Errorf("no record %s", keys[i])
			}
			err = found(i, result.Value)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func keyOf(table, key string) []byte { return fmt.Appendf(nil, "%s/%s", table, key) }

func (d *database) BatchRead(ctx context.Context, table string, keys, fields []string) ([]map[string][]byte, error) {
	rows := make([]map[string][]byte, len(keys))
	err := d.do(ctx, kvs.Get, table, keys, nil, func(i int, row []byte) (err error) {
		rows[i], err = d.rows.Decode(bytes.Clone(row), fields)
		return err
	})
	return rows, err
}

// store stores rows that have all fields.
func (d *database) store(ctx context.Context, kind kvs.Kind, table string, keys []string, rows []map[string][]byte) (err error) {
	values := make([][]byte, len(rows))
	for i, row := range rows {
		if values[i], err = d.rows.Encode(nil, row); err != nil {
			return err
		}
	}
	return d.do(ctx, kind, table, keys, values, nil)
}

func (d *database) BatchInsert(ctx context.Context, table string, keys []string, rows []map[string][]byte) error {
	return d.store(ctx, kvs.Insert, table, keys, rows)
}

// BatchUpdate reads the records whose updates lack fields. It is not atomic, as go-ycsb's
// other bindings are not.
func (d *database) BatchUpdate(ctx context.Context, table string, keys []string, rows []map[string][]byte) error {
	if slices.ContainsFunc(rows, func(row map[string][]byte) bool { return len(row) < d.fields }) {
		before, err := d.BatchRead(ctx, table, keys, nil)
		if err != nil {
			return err
		}
		last := make(map[string]int) // the last row of a key so far
		for i, key := range keys {
			if j, ok := last[key]; ok {
				maps.Copy(before[i], before[j])
			}
			maps.Copy(before[i], rows[i])
			last[key] = i
		}
		rows = before
	}
	return d.store(ctx, kvs.Put, table, keys, rows)
}

func (d *database) BatchDelete(ctx context.Context, table string, keys []string) error {
	return d.do(ctx, kvs.Delete, table, keys, nil, nil)
}

func (d *database) Read(ctx context.Context, table, key string, fields []string) (map[string][]byte, error) {
	rows, err := d.BatchRead(ctx, table, []string{key}, fields)
	if err != nil {
		return nil, err
	}
	return rows[0], nil
}

func (d *database) Update(ctx context.Context, table, key string, values map[string][]byte) error {
	return d.BatchUpdate(ctx, table, []string{key}, []map[string][]byte{values})
}

func (d *database) Insert(ctx context.Context, table, key string, values map[string][]byte) error {
	return d.BatchInsert(ctx, table, []string{key}, []map[string][]byte{values})
}

func (d *database) Delete(ctx context.Context, table, key string) error {
	return d.BatchDelete(ctx, table, []string{key})
}

// Scan asks every server, as each has keys of every range, and returns the first rows of
// all.
func (d *database) Scan(ctx context.Context, table, startKey string, count int, fields []string) ([]map[string][]byte, error) {
	t := ctx.Value(threadKey{}).(*thread)
	from := keyOf(table, startKey)
	owner := d.router.Server(from, route.Hash(from))
	err := t.call(func(calls []kvs.Call) {
		for i := range calls {
			kind := kvs.ScanPart
			if i == owner {
				kind = kvs.Scan
			}
			calls[i].Batch.Scan(kind, from, count)
		}
	})
	if err != nil {
		return nil, err
	}
	type pair struct{ key, row []byte }
	var pairs []pair
	for i := range t.calls {
		results := t.calls[i].Reply.Results()
		result, err := results.Next()
		if err != nil {
			return nil, err
		}
		for p := kvs.PairsOf(result.Value); p.More(); {
			key, row, err := p.Next()
			if err != nil {
				return nil, err
			}
			if bytes.HasPrefix(key, keyOf(table, "")) {
				pairs = append(pairs, pair{key, bytes.Clone(row)})
			}
		}
	}
	slices.SortFunc(pairs, func(a, b pair) int { return bytes.Compare(a.key, b.key) })
	rows := make([]map[string][]byte, min(count, len(pairs)))
	for i := range rows {
		if rows[i], err = d.rows.Decode(pairs[i].row, fields); err != nil {
			return nil, err
		}
	}
	return rows, nil
}
