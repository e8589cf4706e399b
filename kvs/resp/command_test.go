package resp_test

import (
	"errors"
	"io"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"kvlab/internal/kvstest"
	"kvlab/kvs/resp"
)

var small = resp.Limits{Args: 10, Bulk: limit, Size: 1000}

// parseAll returns the commands that r holds.
func parseAll(r io.Reader, limits resp.Limits) (all [][]string, err error) {
	c := resp.Commands{Limits: limits}
	for {
		if err := c.Read(r); err != nil {
			if c.Partial() {
				err = io.ErrUnexpectedEOF
			}
			return all, err
		}
		for {
			args, err := c.Next()
			if err != nil {
				return all, err
			}
			if args == 0 {
				break
			}
			var words []string
			for i := range args {
				words = append(words, string(c.Arg(i)))
			}
			all = append(all, words)
		}
	}
}

// commands are what clients send, and what it means.
var commands = []struct {
	text string
	want [][]string
}{
	{"*1\r\n$4\r\nPING\r\n", [][]string{{"PING"}}},
	{"*2\r\n$3\r\nGET\r\n$0\r\n\r\n", [][]string{{"GET", ""}}},
	{"*3\r\n$3\r\nset\r\n$4\r\n\r\n$1\r\n$2\r\n*1\r\n", [][]string{{"set", "\r\n$1", "*1"}}},
	{"\r\n*2\r\n$4\r\nECHO\r\n$1\r\nx\r\n", [][]string{{"ECHO", "x"}}}, // redis-cli --pipe
	{"*0\r\n*-1\r\n\nPING\n  \r\n", [][]string{{"PING"}}},
	{" SET\tk  v \r\nGET k\n", [][]string{{"SET", "k", "v"}, {"GET", "k"}}},
	{`SET "a b" 'c d'` + "\r\n", [][]string{{"SET", "a b", "c d"}}},
	{`x"a\x41\n\q\""y'\'\n'` + "\n", nil},
	{`"a\x41\xzz\n\r\t\b\a\q\"" '\'\n' "" x"y"` + "\r\n", [][]string{{"aAxzz\n\r\t\b\aq\"", `'\n`, "", "xy"}}},
}

// Every command is parsed however it is cut.
func TestCommands(t *testing.T) {
	for _, c := range commands {
		for name, reader := range map[string]func(io.Reader) io.Reader{
			"whole": func(r io.Reader) io.Reader { return r }, "bytes": iotest.OneByteReader, "halves": iotest.HalfReader,
		} {
			got, err := parseAll(reader(strings.NewReader(c.text)), small)
			if c.want == nil {
				if !errors.Is(err, resp.ErrProtocol) {
					t.Errorf("%q: %q, error %v, want one", c.text, got, err)
				}
				continue
			}
			if err != io.EOF || !slices.EqualFunc(got, c.want, slices.Equal) {
				t.Errorf("%q in %s: %q, %v; want %q", c.text, name, got, err, c.want)
			}
		}
	}
}

// Commands that are no RESP, or over a limit, are errors, which say so as soon as the bytes do.
func TestCommandErrors(t *testing.T) {
	for _, text := range []string{
		"*x", "*1x", "*1\rx", "*11\r\n", "*9999999999999999999", "*1\r\n+", "*1\r\n*", "*1\r\n$-1\r\n", "*1\r\n$101\r\n", "*1\r\n$x",
		"*1\r\n$1\r\nabc", strings.Repeat("x", 1001), strings.Repeat("x", 1001) + "\n", "a b c d e f g h i j k\n", "'a\n", "\"a\n", "'a'b\n",
		"*10\r\n" + strings.Repeat("$100\r\n"+strings.Repeat("x", 100)+"\r\n", 9) + "$100\r\n",
	} {
		if got, err := parseAll(iotest.OneByteReader(strings.NewReader(text)), small); !errors.Is(err, resp.ErrProtocol) {
			t.Errorf("%.30q: %q, error %v", text, got, err)
		}
	}
	if got, err := parseAll(strings.NewReader("*1\r\n$4\r\nPING\r"), small); err != io.ErrUnexpectedEOF || got != nil {
		t.Errorf("an end within a command: %q, %v", got, err)
	}
}

// What one end appends the other parses, across the ends of its buffer, and the buffer of
// a large command is given back.
func TestCommandsRoundTrip(t *testing.T) {
	random := kvstest.NewRandom(t)
	var stream []byte
	var want [][]string
	for i := range 300 {
		var words []string
		for range 1 + random.IntN(4) {
			n := random.IntN(300)
			if i%50 == 49 {
				n = random.IntN(400 << 10)
			}
			words = append(words, string(kvstest.RandomBytes(random, n)))
		}
		want = append(want, words)
		stream = resp.AppendCommand(stream, words...)
	}
	limits := resp.Limits{Args: 5, Bulk: 1 << 20, Size: 4 << 20}
	for _, reader := range []io.Reader{strings.NewReader(string(stream)), &pieces{rest: stream, next: func() int { return 1 + random.IntN(20_000) }}} {
		got, err := parseAll(reader, limits)
		if err != io.EOF || !slices.EqualFunc(got, want, slices.Equal) {
			t.Fatalf("%d commands of %d, %v", len(got), len(want), err)
		}
	}
}

// pieces is a reader of pieces.
type pieces struct {
	rest []byte
	next func() int
}

func (p *pieces) Read(b []byte) (int, error) {
	if len(p.rest) == 0 {
		return 0, io.EOF
	}
	n := copy(b[:min(len(b), p.next())], p.rest)
	p.rest = p.rest[n:]
	return n, nil
}

// FuzzCommands: commands and their error are the same however the bytes are cut, and the
// commands, sent as arrays, are the same again.
func FuzzCommands(f *testing.F) {
	for _, c := range commands {
		f.Add([]byte(c.text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		whole, err := parseAll(strings.NewReader(string(text)), small)
		cut, cutErr := parseAll(iotest.OneByteReader(strings.NewReader(string(text))), small)
		if errors.Is(err, resp.ErrProtocol) != errors.Is(cutErr, resp.ErrProtocol) || !slices.EqualFunc(whole, cut, slices.Equal) {
			t.Fatalf("%q whole: %q, %v; in bytes: %q, %v", text, whole, err, cut, cutErr)
		}
		var again []byte
		for _, words := range whole {
			again = resp.AppendCommand(again, words...)
		}
		same, err := parseAll(strings.NewReader(string(again)), resp.Limits{Args: 10, Bulk: 1000, Size: 2000})
		if err != io.EOF || !slices.EqualFunc(whole, same, slices.Equal) {
			t.Fatalf("%q is %q, and again %q, %v", text, whole, same, err)
		}
	})
}
