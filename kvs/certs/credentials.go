package certs

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
)

// Credentials are a node's certificate and key, and the authority that it trusts, in
// PEM. They are secret: they are sent over the launcher's pipe only, and never logged.
type Credentials struct {
	Authority   string `json:"authority"`
	Certificate string `json:"certificate"`
	Key         string `json:"key"`
}

// Config returns a TLS 1.3 configuration for either side of a connection. A client sets
// ServerName to the host that it dials.
func (c Credentials) Config() (*tls.Config, error) {
	own, err := tls.X509KeyPair([]byte(c.Certificate), []byte(c.Key))
	if err != nil {
		return nil, fmt.Errorf("read a certificate and its key: %w", err)
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM([]byte(c.Authority)) {
		return nil, errors.New("read an authority's certificate: no PEM certificate")
	}
	return &tls.Config{
		MinVersion:   tls.VersionTLS13,
		Certificates: []tls.Certificate{own},
		RootCAs:      pool,
		ClientCAs:    pool,
		ClientAuth:   tls.RequireAndVerifyClientCert,

		SessionTicketsDisabled: true, // no client resumes
		// Dynamic sizing sends the first 1,000 records, and those after each idle
		// second, in one packet each: twice the work here.
		DynamicRecordSizingDisabled: true,
	}, nil
}
