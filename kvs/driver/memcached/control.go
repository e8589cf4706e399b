package memcached

import (
	"bufio"
	"cmp"
	"fmt"
	"io"
	"net"
	"strings"
	"time"
)

// timeout is how long the answer to a question takes at most.
const timeout = 5 * time.Second

// control is a connection that carries one question at a time.
type control struct {
	net.Conn
	in *bufio.Scanner
}

func newControl(socket net.Conn) *control {
	return &control{socket, bufio.NewScanner(socket)}
}

// login sends the user and password of memcached's -Y, as protocol.txt says: by a set of any
// key, which stores nothing.
func (c *control) login(user, password string) error {
	c.SetDeadline(time.Now().Add(timeout))
	defer c.SetDeadline(time.Time{})
	if _, err := fmt.Fprintf(c.Conn, "set kvlab 0 0 %d\r\n%s %s\r\n", len(user)+1+len(password), user, password); err != nil {
		return err
	}
	if !c.in.Scan() {
		return fmt.Errorf("log in: %w", cmp.Or(c.in.Err(), io.ErrUnexpectedEOF))
	}
	if answer := c.in.Text(); answer != "STORED" {
		return fmt.Errorf("log in as user %q: %s", user, answer)
	}
	return nil
}

// ask asks for statistics: "stats", or "stats" and what of.
func (c *control) ask(question string) (map[string]string, error) {
	c.SetDeadline(time.Now().Add(timeout))
	defer c.SetDeadline(time.Time{})
	if _, err := io.WriteString(c.Conn, question+"\r\n"); err != nil {
		return nil, err
	}
	answer := map[string]string{}
	for c.in.Scan() {
		switch words := strings.SplitN(c.in.Text(), " ", 3); {
		case len(words) == 1 && words[0] == "END":
			return answer, nil
		case len(words) < 2 || words[0] != "STAT" || len(answer) == 10_000:
			return nil, fmt.Errorf("%s is answered with %.80q: want a memcached", question, c.in.Text())
		default:
			answer[words[1]] = strings.Join(words[2:], "")
		}
	}
	if err := c.in.Err(); err != nil {
		return nil, fmt.Errorf("%s: %w", question, err)
	}
	return nil, fmt.Errorf("%s: %w", question, io.ErrUnexpectedEOF)
}
