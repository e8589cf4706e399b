package wire

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"kvlab/internal/wiretest"
)

// foreign are listeners that speak another protocol; say answers a client's first
// bytes, or greets it first.
var foreign = map[string]func(net.Conn){
	"an SSH server":  func(conn net.Conn) { io.WriteString(conn, "SSH-2.0-OpenSSH_9.6\r\n") },
	"an SMTP server": func(conn net.Conn) { io.WriteString(conn, "220 mail.example.org ESMTP\r\n") },
	"a Redis server": func(conn net.Conn) {
		if _, err := bufio.NewReader(conn).ReadString('\n'); err == nil {
			io.WriteString(conn, "-ERR unknown command\r\n")
		}
	},
}

// listen answers every connection to a loopback port by say, and keeps it open
// until the client closes it.
func listen(t *testing.T, say func(net.Conn)) (addr string) {
	t.Helper()
	return wiretest.Start(t, func(conn net.Conn) {
		say(conn)
		io.Copy(io.Discard, conn)
	}).Addr().String()
}

// What answers on the server's port and speaks another protocol is called so, by
// its address, with TLS and without.
func TestForeignServer(t *testing.T) {
	addrs := map[string]string{}
	for name, say := range foreign {
		addrs[name] = listen(t, say)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	web := &http.Server{Handler: http.NotFoundHandler()}
	go web.Serve(listener)
	t.Cleanup(func() { web.Close() })
	addrs["a web server"] = listener.Addr().String()
	for name, addr := range addrs {
		for _, options := range []Options{binaryOptions, encryptedOptions(t)} {
			_, _, err := Dial(context.Background(), addr, options)
			if want := "server " + addr + ": it answers, but is no kvlab server: "; err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%s, TLS %t: error %v, want %q", name, options.TLS != nil, err, want)
			}
		}
	}
}

// So is what accepts the connection and says nothing.
func TestSilentServer(t *testing.T) {
	addr := listen(t, func(net.Conn) {})
	for _, options := range []Options{binaryOptions, encryptedOptions(t)} {
		socket, err := net.Dial("tcp", addr)
		if err != nil {
			t.Fatal(err)
		}
		_, _, err = options.reach(&hasty{Conn: socket, moment: 20 * time.Millisecond}, addr)
		socket.Close()
		if want := addr + ": it answers, but is no kvlab server, or one that hangs: "; err == nil || !strings.Contains(err.Error(), want) || !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("TLS %t: error %v, want a timeout with %q", options.TLS != nil, err, want)
		}
	}
}
