package certs

import (
	"crypto/tls"
	"errors"
	"flag"
	"fmt"
	"os"
)

// Flags say whether and with what a node encrypts its calls. The comments name
// the flags.
type Flags struct {
	On          bool   // -tls
	Certificate string // -tls-cert
	Key         string // -tls-key
	Authority   string // -tls-ca
}

// Define defines the flag that says whether.
func (f *Flags) Define(flags *flag.FlagSet) {
	flags.BoolVar(&f.On, "tls", f.On, "encrypt calls (TLS 1.3), and have both sides show a certificate: the launcher's, which makes some for each run, or that of the next three flags")
}

// DefineFiles defines the flags that name files.
func (f *Flags) DefineFiles(flags *flag.FlagSet) {
	flags.StringVar(&f.Certificate, "tls-cert", f.Certificate, "with -tls: `file` with this node's certificate in PEM; a server's has to name the host that clients dial")
	flags.StringVar(&f.Key, "tls-key", f.Key, "with -tls: `file` with its key")
	flags.StringVar(&f.Authority, "tls-ca", f.Authority, "with -tls: `file` with the certificate of the authority that the other side's must be from")
}

// Validate returns an error that names the first wrong flag and its right form.
func (f Flags) Validate() error {
	files := 0
	for _, file := range []string{f.Certificate, f.Key, f.Authority} {
		if file != "" {
			files++
		}
	}
	switch {
	case files > 0 && files < 3:
		return errors.New("-tls-cert, -tls-key and -tls-ca go together: give all three")
	case files > 0 && !f.On:
		return errors.New("-tls-cert, -tls-key and -tls-ca go with -tls")
	}
	return nil
}

// Config is how calls are encrypted, nil for not at all. given are the
// launcher's credentials, nil without; files of the node's own come first.
func (f Flags) Config(given *Credentials) (*tls.Config, error) {
	switch {
	case !f.On:
		return nil, nil
	case f.Certificate != "":
		return f.read()
	case given == nil:
		return nil, errors.New("-tls: nobody has made certificates for this node: give -tls-cert, -tls-key and -tls-ca, or run ./run-cluster.sh --tls")
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
