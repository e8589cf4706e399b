package memcached

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strconv"

	"kvlab/kvs/driver"
)

// nullLine is the longest line that a server without a store reads: a get of the most
// operations of a call, with the longest keys that clients usually have.
const nullLine = 1 << 20

// null serves a connection as memcached does, without a store.
func null(socket net.Conn, _ driver.Options, store *driver.Null) error {
	in, out := bufio.NewReaderSize(socket, nullLine), bufio.NewWriterSize(socket, 64<<10)
	for {
		line, err := in.ReadSlice('\n')
		if errors.Is(err, io.EOF) && len(line) == 0 {
			return nil
		}
		if err == nil {
			err = answer(bytes.TrimRight(line, "\r\n"), in, out, store)
		}
		if err == nil && in.Buffered() == 0 {
			err = out.Flush()
		}
		if err != nil {
			return err
		}
	}
}

// answer answers a command, which begins with a line.
func answer(line []byte, in *bufio.Reader, out *bufio.Writer, store *driver.Null) (err error) {
	name, rest, _ := bytes.Cut(line, []byte(" "))
	switch string(name) {
	case "get":
		value, found := store.Value()
		for found && len(rest) > 0 {
			var key []byte
			key, rest, _ = bytes.Cut(rest, []byte(" "))
			head := append(append(append(out.AvailableBuffer(), "VALUE "...), key...), " 0 "...)
			head = append(strconv.AppendInt(head, int64(len(value)), 10), "\r\n"...)
			_, _ = out.Write(head) // the last write has the error of all
			_, _ = out.Write(value)
			_, _ = out.WriteString("\r\n")
		}
		_, err = out.WriteString(end)
	case "set":
		size, malformed := strconv.Atoi(string(rest[bytes.LastIndexByte(rest, ' ')+1:]))
		if malformed != nil || size < 0 || size > nullLine-2 {
			return fmt.Errorf("set %.80q: want its bytes at the end", rest)
		}
		data, err := in.Peek(size + 2)
		if err != nil {
			return err
		}
		store.Keep(data[:size])
		_, _ = in.Discard(size + 2) // which Peek has shown
		_, err = out.WriteString("STORED\r\n")
		return err
	case "delete":
		_, err = out.WriteString("DELETED\r\n")
	case "stats":
		_, err = fmt.Fprintf(out, "STAT pid %d\r\nSTAT time 1\r\nSTAT uptime 1\r\n%s", os.Getpid(), end)
	default:
		err = fmt.Errorf("no command of the driver: %.80q", line)
	}
	return err
}
