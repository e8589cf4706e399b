package certs

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
)

// Credentials are what a node proves itself with and what it believes, in PEM.
// They hold a secret: they travel where nobody listens, and are not logged.
type Credentials struct {
	Authority   string `json:"authority"`
	Certificate string `json:"certificate"`
	Key         string `json:"key"`
}

// Config is TLS 1.3 for either side of a connection. A client sets ServerName to
// the host that it dials.
func (c Credentials) Config() (*tls.Config, error) {
	own, err := tls.X509KeyPair([]byte(c.Certificate), []byte(c.Key))
	if err != nil {
		return nil, fmt.Errorf("read a certificate and its key: %w", err)
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM([]byte(c.Authority)) {
		return nil, errors.New("read an authority's certificate: there is none in PEM")
	}
	return &tls.Config{
		MinVersion:   tls.VersionTLS13,
		Certificates: []tls.Certificate{own},
		RootCAs:      pool,
		ClientCAs:    pool,
		ClientAuth:   tls.RequireAndVerifyClientCert,

		SessionTicketsDisabled: true, // nobody comes twice
		// Records would be of one packet for the first 1,000 and after every
		// second's rest: good for a page's first byte, and here twice the work.
		DynamicRecordSizingDisabled: true,
	}, nil
}
