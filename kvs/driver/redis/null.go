package redis

import (
	"fmt"
	"io"
	"net"
	"os"

	"kvlab/kvs"
	"kvlab/kvs/driver"
	"kvlab/kvs/resp"
)

// flushAt is how many bytes of replies null sends together.
const flushAt = 64 << 10

// null serves a connection as Redis does, without a store.
func null(socket net.Conn, _ driver.Options, store *driver.Null) error {
	in := resp.Commands{Limits: resp.Limits{Args: 6, Bulk: kvs.MaxValueLen, Size: kvs.MaxValueLen + 1<<10}}
	var out []byte
	for {
		if err := in.Read(socket); err == io.EOF && !in.Partial() {
			return nil
		} else if err != nil {
			return err
		}
		for more := true; more; {
			args, err := in.Next()
			if more = args > 0; more && err == nil {
				out, err = answer(out, &in, args, store)
			}
			if err == nil && (!more || len(out) >= flushAt) {
				_, err = socket.Write(out)
				out = out[:0]
			}
			if err != nil {
				return err
			}
		}
	}
}

// answer appends the reply to a command.
func answer(out []byte, in *resp.Commands, args int, store *driver.Null) ([]byte, error) {
	value, found := store.Value()
	switch name := string(in.Arg(0)); {
	case name == "SET" && args >= 3:
		if store.Keep(in.Arg(2)); args%2 == 1 { // without GET
			return append(out, "+OK\r\n"...), nil
		}
	case name == "GET" && args == 2:
	case name == "DEL":
		return append(out, ":1\r\n"...), nil
	case name == "CLIENT":
		return append(out, "+OK\r\n"...), nil
	case name == "INFO":
		return resp.AppendBulk(out, fmt.Sprintf("run_id:%d\r\n", os.Getpid())), nil
	default:
		return nil, fmt.Errorf("no command of the driver: %.80q", name)
	}
	if !found {
		return resp.AppendNull(out, resp.RESP2), nil
	}
	return resp.AppendBulk(out, value), nil
}
