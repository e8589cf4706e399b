package trace

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"io"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/klauspost/compress/zstd"

	"kvlab/workload"
	"kvlab/workload/trace"
)

// imported compiles an input.
func imported(t testing.TB, text, format string) (*trace.Trace, string, error) {
	return importedWith(t, text, format, reader{size: 77})
}

// importedWith compiles an input in a way.
func importedWith(t testing.TB, text, format string, r reader) (*trace.Trace, string, error) {
	out := filepath.Join(t.TempDir(), "t.kvt")
	_, cut, err := compile(strings.NewReader(text), "input", format, out, r)
	if err != nil {
		if _, missing := os.Stat(out); missing == nil {
			t.Errorf("%v, and %s is written", err, out)
		}
		return nil, cut, err
	}
	compiled, err := trace.Open(out)
	if err != nil {
		t.Fatal(err)
	}
	return compiled, cut, nil
}

// compare compares a compiled trace with what a replay of operations does.
func (f form) compare(t *testing.T, got *trace.Trace, ops []made) {
	t.Helper()
	want := replayed(ops, f.fills, f.redis)
	for i := range want {
		want[i].at -= ops[0].at
	}
	ids, names := map[string]uint32{}, map[uint32]string{}
	kinds, wantKinds, commands := map[string]uint64{}, map[string]uint64{}, map[string]uint64{}
	for _, op := range ops {
		commands[op.name] += uint64(max(1, op.times))
	}
	if f.fills {
		for name := range got.Commands {
			commands = map[string]uint64{name: uint64(len(ops))}
		}
	}
	if !maps.Equal(got.Commands, commands) || got.Ops != uint64(len(want)) {
		t.Fatalf("%d operations of commands %v, want %d of %v", got.Ops, got.Commands, len(want), commands)
	}
	for i, w := range want {
		op := got.Op(uint64(i))
		g := effect{trace.KindNames()[op.Kind], w.key, int(op.Size), int(int64(op.Tick) * got.TickNs / 1e9)}
		if g != w {
			t.Fatalf("operation %d is %+v, want %+v", i, g, w)
		}
		if id, known := ids[w.key]; known && id != op.ID || !known && names[op.ID] != "" {
			t.Fatalf("operation %d of key %q has the id %d of %q", i, w.key, op.ID, names[op.ID])
		}
		ids[w.key], names[op.ID] = op.ID, w.key
		kinds[g.kind]++
		wantKinds[w.kind]++
	}
	if !maps.Equal(got.Kinds, wantKinds) || got.Keys != uint64(len(ids)) {
		t.Errorf("%d keys, kinds %v, want %d and %v", got.Keys, got.Kinds, len(ids), wantKinds)
	}
	f.compareSums(t, got, want, ids)
	for name, id := range ids {
		if _, length, loaded := got.Key(uint64(id)); f.format != "oracle" && length != len(name) || (loaded > 0) != (uint64(id) < got.Loaded) {
			t.Errorf("key %q with id %d of %d loaded ones: length %d, loaded %d", name, id, got.Loaded, length, loaded)
		}
	}
}

// compareSums compares what a trace's commands became, and the bytes that are there at the end
// and at most, with the effects of its operations. A key's loaded size is the trace's word.
func (f form) compareSums(t *testing.T, got *trace.Trace, want []effect, ids map[string]uint32) {
	t.Helper()
	for name, n := range got.Commands {
		sum := got.Skipped[name]
		for _, of := range got.Became[name] {
			sum += of
		}
		if sum-got.Filled != n {
			t.Errorf("%d of %d operations %s, %v of them became others, %d were left out", sum, n, name, got.Became[name], got.Skipped[name])
		}
	}
	for kind, name := range trace.KindNames() {
		sum := uint64(0)
		for _, of := range got.Became {
			sum += of[kind]
		}
		if sum != got.Kinds[name] {
			t.Errorf("%d of %d %ss are of some command", sum, got.Kinds[name], name)
		}
	}
	values, all := map[string]int{}, func(values map[string]int) (bytes, keys uint64) {
		for name, size := range values {
			if size > 0 {
				_, length, _ := got.Key(uint64(ids[name]))
				bytes, keys = bytes+uint64(size), keys+uint64(length)
			}
		}
		return bytes, keys
	}
	for name, id := range ids {
		_, _, values[name] = got.Key(uint64(id))
	}
	live, keys := all(values)
	peak, total := live+keys, int64(live+keys)
	for _, w := range want {
		if w.kind == "read" {
			continue
		}
		_, length, _ := got.Key(uint64(ids[w.key]))
		if values[w.key] > 0 {
			total -= int64(values[w.key] + length)
		}
		if values[w.key] = w.size; w.size > 0 {
			total += int64(w.size + length)
		}
		peak = max(peak, uint64(total))
	}
	if live, keys = all(values); live != got.LiveBytes || total != int64(live+keys) {
		t.Errorf("%d bytes are there at the end, want %d", got.LiveBytes, live)
	}
	if n := (workload.Config{Replay: got.Path}).PeakBytes(); n != peak {
		t.Errorf("%d bytes are there at most, want %d", n, peak)
	}
}

// Each format's published form gives the operations that its generator made.
func TestImport(t *testing.T) {
	for _, f := range forms {
		t.Run(f.name, func(t *testing.T) {
			for seed := range uint64(5) {
				ops := f.ops(rand.New(rand.NewPCG(seed, 1)), 3000)
				text := f.write(ops)
				got, cut, err := imported(t, text, f.format)
				if err != nil || cut != "" {
					t.Fatalf("seed %d: %v %s", seed, err, cut)
				}
				f.compare(t, got, ops)
				if sum := sha256.Sum256([]byte(text)); got.SHA256 != hex.EncodeToString(sum[:]) {
					t.Errorf("SHA-256 %s", got.SHA256)
				}
				if f.redis && got.Skipped["other"] != 1 {
					t.Errorf("skipped %v, want one other", got.Skipped)
				}
				short := text[:len(text)-3]
				switch got, cut, err := imported(t, short, f.format); {
				case f.format == "txt": // a cut key is a key
				case f.redis: // the last line has no key
				case f.name == "twitter" && ops[len(ops)-1].ttl > 0, f.format == "meta": // a cut number is a number, or the last columns are missing
				case err != nil || cut == "":
					t.Errorf("seed %d, cut off: %q, %v", seed, cut, err)
				default:
					f.compare(t, got, ops[:len(ops)-1])
				}
			}
		})
	}
}

// With -keys a trace has its own keys, and what a store of text does not take is named. A file
// whose keys are damaged is refused.
func TestImportKeys(t *testing.T) {
	for _, f := range forms {
		if f.format == "oracle" {
			continue
		}
		ops := f.ops(rand.New(rand.NewPCG(1, 1)), 3000)
		_, _, err := importedWith(t, f.write(ops), f.format, reader{size: 77, texts: true})
		if err == nil || !strings.Contains(err.Error(), "input: line ") || !strings.Contains(err.Error(), " s\": a store of text takes no spaces") {
			t.Errorf("%s: a key with a space: %v", f.name, err)
		}
		for i := range ops {
			ops[i].key = strings.ReplaceAll(ops[i].key, " ", "_")
		}
		got, _, err := importedWith(t, f.write(ops), f.format, reader{size: 77, texts: true})
		if err != nil {
			t.Fatal(err)
		}
		f.compare(t, got, ops)
		for i, w := range replayed(ops, f.fills, f.redis) {
			if key := got.Text(uint64(got.Op(uint64(i)).ID)); string(key) != w.key || len(key) > got.Longest {
				t.Fatalf("%s: operation %d is of key %q, want %q", f.name, i, key, w.key)
			}
		}
		file, err := os.ReadFile(got.Path)
		if err != nil {
			t.Fatal(err)
		}
		damaged := filepath.Join(t.TempDir(), "t.kvt")
		for _, at := range []int{len(file) - 1, len(file) - int(got.Texts) - 1} {
			bad := bytes.Clone(file)
			bad[at] ^= 1
			if err := os.WriteFile(damaged, bad, 0o600); err != nil {
				t.Fatal(err)
			}
			if _, err := trace.Open(damaged); err == nil {
				t.Errorf("%s: a file with another byte %d is opened", f.name, at)
			}
		}
	}
}

// Compressed inputs are read as they are, and their sum is that of the file.
func TestImportCompressed(t *testing.T) {
	f := forms[0]
	ops := f.ops(rand.New(rand.NewPCG(7, 7)), 2000)
	for name, compress := range map[string]func(io.Writer) io.WriteCloser{
		"gzip": func(w io.Writer) io.WriteCloser { return gzip.NewWriter(w) },
		"zstd": func(w io.Writer) io.WriteCloser { z, _ := zstd.NewWriter(w); return z },
	} {
		var file bytes.Buffer
		w := compress(&file)
		_, _ = io.WriteString(w, f.write(ops))
		w.Close()
		got, _, err := imported(t, file.String(), f.format)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		f.compare(t, got, ops)
		if sum := sha256.Sum256(file.Bytes()); got.SHA256 != hex.EncodeToString(sum[:]) {
			t.Errorf("%s: SHA-256 %s", name, got.SHA256)
		}
		if _, _, err := imported(t, file.String()[:file.Len()/2], f.format); err == nil || !strings.Contains(err.Error(), "input: line ") {
			t.Errorf("%s, cut in half: %v", name, err)
		}
	}
}

// Of 50 mutated inputs of each format, each is refused with the number of the line, or gives the
// operations that its text has: those of an equal input of which one line differs.
func TestImportMutated(t *testing.T) {
	for _, f := range forms {
		r := rand.New(rand.NewPCG(50, 50))
		ops := f.ops(r, 60)
		text := f.write(ops)
		whole, _, err := imported(t, text, f.format)
		if err != nil {
			t.Fatal(err)
		}
		refused := 0
		for i := range 50 {
			mutated := []byte(text)
			at := r.IntN(len(text))
			switch i % 3 {
			case 0:
				mutated[at] ^= byte(1 + r.IntN(255))
			case 1:
				mutated = append(mutated[:at], mutated[at+1:]...)
			case 2:
				mutated = append(mutated[:at:at], append([]byte{byte(r.IntN(256))}, mutated[at:]...)...)
			}
			got, cut, err := imported(t, string(mutated), f.format)
			switch {
			case err != nil:
				if refused++; !strings.HasPrefix(err.Error(), "input: line ") && !strings.HasPrefix(err.Error(), "input: record ") {
					t.Errorf("%s, mutation %d: %v names no line", f.name, i, err)
				}
			case f.format != "oracle" && f.format != "meta": // lines before the mutated one are as they were
				line := strings.Count(text[:at], "\n")
				if same := len(replayed(ops[:max(0, min(len(ops), line-1))], f.fills, f.redis)); cut == "" && got.Ops < uint64(same) {
					t.Errorf("%s, mutation %d of line %d: %d operations, of %d", f.name, i, line+1, got.Ops, whole.Ops)
				}
				for k := range min(got.Ops, whole.Ops, uint64(len(replayed(ops[:max(0, min(len(ops), line-1))], f.fills, f.redis)))) {
					if g, w := got.Op(k), whole.Op(k); g.Kind != w.Kind && w.Kind != trace.Insert && w.Kind != trace.Update || g.Size != w.Size {
						t.Errorf("%s, mutation %d of line %d: operation %d is %+v, was %+v", f.name, i, line+1, k, g, w)
						break
					}
				}
			}
		}
		t.Logf("%s: %d of 50 mutations are refused", f.name, refused)
	}
}

// A damaged compiled trace is refused, wherever the damage is.
func TestOpenDamaged(t *testing.T) {
	whole, _, err := imported(t, forms[0].write(forms[0].ops(rand.New(rand.NewPCG(1, 2)), 200)), "twitter")
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(whole.Path)
	if err != nil {
		t.Fatal(err)
	}
	r, path := rand.New(rand.NewPCG(3, 4)), ""
	for i := range 50 {
		path = filepath.Join(t.TempDir(), strconv.Itoa(i))
		damaged := bytes.Clone(text)
		switch at := 4096 + r.IntN(len(text)-4096); i % 3 {
		case 0:
			damaged[at] ^= byte(1 + r.IntN(255))
		case 1:
			damaged = damaged[:at]
		case 2:
			damaged = append(damaged, 0)
		}
		if err := os.WriteFile(path, damaged, 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := trace.Open(path); err == nil || !strings.HasPrefix(err.Error(), path) {
			t.Errorf("damage %d: %v", i, err)
		}
	}
}

// ristrettoTrace returns ristretto's public trace, as a module that extra/rivals has.
func ristrettoTrace(t *testing.T) string {
	cmd := exec.Command("go", "list", "-C", "../rivals", "-m", "-f", "{{.Dir}}", "github.com/dgraph-io/ristretto/v2")
	cmd.Env = append(os.Environ(), "GOPROXY=off", "GOFLAGS=-mod=mod")
	out, err := cmd.Output()
	path := filepath.Join(strings.TrimSpace(string(out)), "sim", "gli.lirs.gz")
	if _, missing := os.Stat(path); err != nil || missing != nil {
		t.Skipf("the module of extra/rivals is not there: %v", err)
	}
	return path
}

// The public trace gli of the LIRS paper has 6,015 requests of 2,529 keys, and an empty last line.
func TestImportPublic(t *testing.T) {
	text, err := os.ReadFile(ristrettoTrace(t))
	if err != nil {
		t.Fatal(err)
	}
	got, _, err := imported(t, string(text), "txt")
	if err != nil {
		t.Fatal(err)
	}
	if got.Commands["read"] != 6015 || got.Keys != 2529 || got.Kinds["insert"] != 2529 || got.Ops != 6015+2529 {
		t.Errorf("%+v", got.Header)
	}
	if text := describe(got); !strings.Contains(text, "2529 100.00 % ##") {
		t.Errorf("described as\n%s", text)
	}
}

// BenchmarkImport prints lines per second.
func BenchmarkImport(b *testing.B) {
	f := forms[0]
	text := f.write(f.ops(rand.New(rand.NewPCG(1, 1)), 1_000_000))
	b.SetBytes(int64(len(text)))
	start := time.Now()
	for b.Loop() {
		if _, _, err := imported(b, text, f.format); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.N)*1e6/time.Since(start).Seconds(), "lines/s")
}
