package wire

import (
	"errors"
	"net"
	"strings"
	"testing"

	"kvlab/kvs"
	"kvlab/kvs/engine"
)

// A proof holds for one side, one order of nonces, and one token.
func TestProofsDiffer(t *testing.T) {
	a, b := newNonce(), newNonce()
	proofs := map[string]bool{}
	for _, token := range []string{"", "secret", "secret2"} {
		for _, side := range []string{"server", "client"} {
			options := Options{Token: token}
			proofs[string(options.proof(side, a, b))] = true
			proofs[string(options.proof(side, b, a))] = true
		}
	}
	if len(proofs) != 12 {
		t.Errorf("%d proofs, want 12", len(proofs))
	}
}

// A stranger who does not know the token gets no session, whatever it answers
// to the challenge; not even the server's own proof, sent back.
func TestStrangerMeetsServer(t *testing.T) {
	answers := map[string]func(c message, mine []byte) message{
		"nothing":            func(message, []byte) message { return message{} },
		"the server's proof": func(c message, _ []byte) message { return message{Proof: c.Proof} },
		"another token's proof": func(c message, mine []byte) message {
			return message{Proof: Options{Token: "guess"}.proof("client", c.Nonce, mine)}
		},
		"no token's proof": func(c message, mine []byte) message {
			return message{Proof: Options{}.proof("client", c.Nonce, mine)}
		},
	}
	s := startServer(t, binaryOptions, engine.NewMutex())
	for name, reply := range answers {
		t.Run(name, func(t *testing.T) {
			conn, err := net.Dial("tcp", s.addr)
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close()
			mine := newNonce()
			tell(t, conn, message{Protocol: protocol, Values: kvs.ValueFormat, Nonce: mine, Hello: Hello{Node: "stranger", Codec: "binary"}})
			c := hear(t, conn)
			tell(t, conn, reply(c, mine))
			w := hear(t, conn)
			if !strings.Contains(w.Error, "belongs to another run") {
				t.Errorf("the stranger is told %q", w.Error)
			}
			if err := s.end(t); !errors.Is(err, ErrRefused) {
				t.Errorf("Serve: error %v, want a refusal", err)
			}
			checkClosed(t, conn)
		})
	}
	if counts := s.service.Counts(); len(counts) != 0 {
		t.Errorf("a stranger was counted: %v", counts)
	}
}
