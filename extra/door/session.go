package door

import (
	"crypto/subtle"
	"fmt"
	"strconv"
	"time"

	"kvlab/kvs/resp"
)

func ping(c *conn, row *row, args int) {
	switch args {
	case 1:
		c.simple("PONG")
	case 2:
		c.bulk(c.commands.Arg(1))
	default:
		c.fail("ERR wrong number of arguments for 'ping' command")
	}
}

func echo(c *conn, _ *row, _ int) { c.bulk(c.commands.Arg(1)) }

func quit(c *conn, _ *row, _ int) {
	c.ok()
	c.quit = true
}

// auth is AUTH [user] password.
func auth(c *conn, _ *row, args int) {
	switch user := []byte("default"); {
	case args > 3:
		c.fail("ERR syntax error")
	case args == 2 && c.gateway.options.Password == "":
		c.fail("ERR AUTH <password> called without any password configured for the default user. Are you sure your configuration is correct?")
	default:
		if args == 3 {
			user = c.commands.Arg(1)
		}
		if c.login(user, c.commands.Arg(args-1)) {
			c.ok()
		}
	}
}

// login checks a password, and answers a wrong one.
func (c *conn) login(user, password []byte) bool {
	want := c.gateway.options.Password
	right := string(user) == "default" && (want == "" || subtle.ConstantTimeCompare(password, []byte(want)) == 1)
	if right {
		c.trust(true)
	} else {
		c.fail("WRONGPASS invalid username-password pair or user is disabled.")
	}
	return right
}

// hello is HELLO [version [AUTH user password] [SETNAME name]].
func hello(c *conn, _ *row, args int) {
	version, name := c.version, c.name
	if args > 1 {
		n, err := strconv.Atoi(string(c.commands.Arg(1)))
		switch version = resp.Version(n); {
		case err != nil:
			c.fail("ERR Protocol version is not an integer or out of range")
			return
		case version != resp.RESP2 && version != resp.RESP3:
			c.fail("NOPROTO unsupported protocol version")
			return
		}
	}
	for i := 2; i < args; i++ {
		switch {
		case i+2 < args && c.is(i, "auth"):
			if !c.login(c.commands.Arg(i+1), c.commands.Arg(i+2)) {
				return
			}
			i += 2
		case i+1 < args && c.is(i, "setname"):
			name = string(c.commands.Arg(i + 1))
			i++
		default:
			c.fail(fmt.Sprintf("ERR Syntax error in HELLO option '%.64s'", c.commands.Arg(i)))
			return
		}
	}
	if !c.trusted {
		c.fail("NOAUTH HELLO must be called with the client already authenticated, otherwise the HELLO <proto> AUTH <user> <pass> option can be used to authenticate the client and select the RESP protocol version at the same time")
		return
	}
	c.version, c.name = version, name
	c.pairs(7)
	for _, text := range []string{"server", "redis", "version", redisVersion} {
		c.text(text)
	}
	c.text("proto")
	c.integer(int(c.version))
	c.text("id")
	c.integer(int(c.id))
	for _, text := range []string{"mode", "standalone", "role", "master", "modules"} {
		c.text(text)
	}
	c.array(0)
}

func selectDB(c *conn, _ *row, _ int) {
	switch db, err := strconv.Atoi(string(c.commands.Arg(1))); {
	case err != nil:
		c.fail("ERR value is not an integer or out of range")
	case db != 0:
		c.fail("ERR DB index is out of range")
	default:
		c.ok()
	}
}

// client is CLIENT with those subcommands that clients send when they connect.
func client(c *conn, _ *row, args int) {
	switch {
	case args == 3 && c.is(1, "setname"):
		c.name = string(c.commands.Arg(2))
		c.ok()
	case args == 4 && c.is(1, "setinfo"):
		c.ok()
	case args == 2 && c.is(1, "getname"):
		if c.name == "" {
			c.null()
		} else {
			c.text(c.name)
		}
	case args == 2 && c.is(1, "id"):
		c.integer(int(c.id))
	case c.is(1, "list"):
		c.text(c.gateway.list())
	case c.is(1, "tracking"):
		c.fail("ERR CLIENT TRACKING: this server does not tell clients what to remove from their caches")
	default:
		c.fail(fmt.Sprintf("ERR unknown subcommand '%.64s'. Try CLIENT HELP.", c.commands.Arg(1)))
	}
}

// clock is TIME.
func clock(c *conn, _ *row, _ int) {
	now := time.Now()
	c.array(2)
	c.text(strconv.FormatInt(now.Unix(), 10))
	c.text(strconv.Itoa(now.Nanosecond() / 1000))
}

func (c *conn) text(text string) { c.out.buf = resp.AppendBulk(c.out.buf, text) }

func (c *conn) simple(text string) { c.out.buf = resp.AppendLine(c.out.buf, resp.Simple, text) }

func (c *conn) pairs(n int) { c.out.buf = resp.AppendMapHead(c.out.buf, n, c.version) }
