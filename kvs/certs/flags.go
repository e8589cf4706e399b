package certs

import (
	"crypto/tls"
	"errors"
	"flag"
	"fmt"
	"os"
)

// Flags configure the encryption of calls. The comments name the flags.
type Flags struct {
	On          bool   // -tls
	Certificate string // -tls-cert
	Key         string // -tls-key
	Authority   string // -tls-ca
}

// Define defines -tls.
func (f *Flags) Define(flags *flag.FlagSet) {
	flags.BoolVar(&f.On, "tls", f.On, "encrypt calls (TLS 1.3); both sides show a certificate, which the launcher issues for the run or -tls-cert names")
}

// DefineFiles defines the flags that name files.
func (f *Flags) DefineFiles(flags *flag.FlagSet) {
	flags.StringVar(&f.Certificate, "tls-cert", f.Certificate, "with -tls: `file` with this node's certificate in PEM; a server's must name the host that clients dial")
	flags.StringVar(&f.Key, "tls-key", f.Key, "with -tls: `file` with its key")
	flags.StringVar(&f.Authority, "tls-ca", f.Authority, "with -tls: `file` with the certificate of the authority that issued the other side's")
}

// Validate returns an error that tells the right use of the flags that name files.
func (f Flags) Validate() error {
	none := f.Certificate == "" && f.Key == "" && f.Authority == ""
	if none || f.On && f.Certificate != "" && f.Key != "" && f.Authority != "" {
		return nil
	}
	return errors.New("-tls-cert, -tls-key and -tls-ca go together, and go with -tls")
}

// Config returns the TLS configuration, nil without -tls. given are the launcher's
// credentials or nil; the node's own files take precedence.
func (f Flags) Config(given *Credentials) (*tls.Config, error) {
	switch {
	case !f.On:
		return nil, nil
	case f.Certificate != "":
		return f.read()
	case given == nil:
		return nil, errors.New("-tls: this node has no certificate: give -tls-cert, -tls-key and -tls-ca, or run ./run-cluster.sh --tls")
	}
	return given.Config()
}

func (f Flags) read() (*tls.Config, error) {
	var c Credentials
	for _, part := range []struct {
		flag, file string
		text       *string
	}{{"-tls-cert", f.Certificate, &c.Certificate}, {"-tls-key", f.Key, &c.Key}, {"-tls-ca", f.Authority, &c.Authority}} {
		text, err := os.ReadFile(part.file)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", part.flag, err)
		}
		*part.text = string(text)
	}
	config, err := c.Config()
	if err != nil {
		return nil, fmt.Errorf("-tls-cert %s, -tls-key %s, -tls-ca %s: %w", f.Certificate, f.Key, f.Authority, err)
	}
	return config, nil
}
