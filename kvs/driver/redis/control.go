package redis

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"time"

	"kvlab/kvs/resp"
)

// controlTimeout is how long a command of a control connection may take.
const controlTimeout = 5 * time.Second

// The limits of a reply to a command of a control connection.
const (
	maxText     = 1 << 20
	maxElements = 1 << 16
	maxDepth    = 4 // of arrays in arrays
)

// node is a reply: a value and, of an array, its elements.
type node struct {
	resp.Value
	elements []node
}

// control is a connection that carries one command at a time.
type control struct {
	net.Conn
	in    []byte // read and not parsed
	named bool   // CLIENT LIST shows it by its name
}

// connectionName is the name of the driver's connections.
const connectionName = "kvlab"

// control connects to a server, authenticates if the settings have a password, and lets meet
// speak with it.
func (r *redis) control(ctx context.Context, server int, meet func(*control) error) (c *control, err error) {
	_, err = r.options.Connect(ctx, server, func(socket net.Conn) error {
		c = &control{Conn: socket}
		words := []string{"AUTH"}
		if user := r.options.Settings["user"]; user != "" {
			words = append(words, user)
		}
		if password := r.options.Settings["password"]; password != "" {
			if _, err := c.do(append(words, password)...); err != nil {
				return err
			}
		}
		_, err := c.do("CLIENT", "SETNAME", connectionName)
		c.named = err == nil // an account may forbid it
		err = meet(c)
		if err != nil && strings.Contains(err.Error(), "NOAUTH") {
			err = fmt.Errorf("%w Want %s://user:password@%s", err, r.options.Transport, r.options.Hosts[server])
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	return c, nil
}

// do sends a command and returns its reply. An error reply is an error.
func (c *control) do(words ...string) (node, error) {
	c.SetDeadline(time.Now().Add(controlTimeout))
	defer c.SetDeadline(time.Time{})
	_, err := c.Write(resp.AppendCommand(nil, words...))
	var reply node
	if err == nil {
		elements := maxElements
		reply, err = c.read(maxDepth, &elements)
	}
	if err == nil && reply.Type == resp.Error {
		err = errors.New(string(reply.Text))
	}
	if err != nil {
		return node{}, fmt.Errorf("%s: %w", words[0], err)
	}
	return reply, nil
}

// read reads a reply, of arrays of at most some depth and elements.
func (c *control) read(depth int, elements *int) (node, error) {
	v, size, err := resp.Parse(c.in, maxText)
	for ; size == 0; v, size, err = resp.Parse(c.in, maxText) {
		if err != nil {
			return node{}, err
		}
		var more [4096]byte
		n, err := c.Read(more[:])
		c.in = append(c.in, more[:n]...)
		switch {
		case n > 0:
		case err == io.EOF:
			return node{}, io.ErrUnexpectedEOF
		case err != nil:
			return node{}, err
		}
	}
	c.in = c.in[size:]
	reply := node{Value: v}
	if v.Type != resp.Array || v.N <= 0 {
		return reply, nil
	}
	if *elements -= int(min(v.N, maxElements+1)); *elements < 0 || depth == 0 {
		return node{}, fmt.Errorf("%w: an array of more than %d elements or %d levels", resp.ErrProtocol, maxElements, maxDepth)
	}
	for range v.N {
		element, err := c.read(depth-1, elements)
		if err != nil {
			return node{}, err
		}
		reply.elements = append(reply.elements, element)
	}
	return reply, nil
}
