// Package certs makes the certificates of one run (-tls): a certificate authority and
// the credentials of its nodes. Servers and clients verify each other's certificate.
//
// crypto/tls does not update keys: beyond 2^24.5 records, 0.4 TB in one direction of a
// connection, the safety margin of RFC 8446 (5.5) is not met.
package certs

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"net/netip"
	"time"
)

// early is how long before its creation a certificate is valid: nodes' clocks differ.
const early = time.Hour

// Authority issues certificates. Its key never leaves it. It is safe for
// concurrent use.
type Authority struct {
	key         *ecdsa.PrivateKey
	certificate *x509.Certificate
	text        string // the certificate in PEM
}

// NewAuthority returns an authority with a new P-256 key, whose certificates are valid
// for the given time.
func NewAuthority(valid time.Duration) (*Authority, error) {
	now := time.Now()
	template := &x509.Certificate{
		Subject:               pkix.Name{CommonName: "a kvlab run"},
		NotBefore:             now.Add(-early),
		NotAfter:              now.Add(valid),
		IsCA:                  true,
		BasicConstraintsValid: true,
		MaxPathLenZero:        true, // no intermediate authorities
		KeyUsage:              x509.KeyUsageCertSign,
		SubjectKeyId:          []byte(rand.Text()), // which the nodes' certificates name
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	a := &Authority{key: key, certificate: template}
	if err == nil {
		a.text, err = a.sign(template, key)
	}
	if err != nil {
		return nil, fmt.Errorf("make a certificate authority: %w", err)
	}
	return a, nil
}

// Issue returns credentials with a new key for a node. addrs are the addresses on which
// it may serve; a client needs none.
func (a *Authority) Issue(node string, addrs ...netip.Addr) (Credentials, error) {
	template := &x509.Certificate{
		Subject:     pkix.Name{CommonName: node},
		NotBefore:   a.certificate.NotBefore,
		NotAfter:    a.certificate.NotAfter,
		KeyUsage:    x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}
	for _, addr := range addrs {
		template.IPAddresses = append(template.IPAddresses, addr.AsSlice())
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	var certificate string
	if err == nil {
		certificate, err = a.sign(template, key)
	}
	var private []byte
	if err == nil {
		private, err = x509.MarshalPKCS8PrivateKey(key)
	}
	if err != nil {
		return Credentials{}, fmt.Errorf("issue a certificate for %s: %w", node, err)
	}
	return Credentials{Authority: a.text, Certificate: certificate, Key: encode("PRIVATE KEY", private)}, nil
}

// sign signs a template for a key, with a random serial number.
func (a *Authority) sign(template *x509.Certificate, key *ecdsa.PrivateKey) (string, error) {
	der, err := x509.CreateCertificate(rand.Reader, template, a.certificate, &key.PublicKey, a.key)
	return encode("CERTIFICATE", der), err
}

func encode(kind string, der []byte) string {
	return string(pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}))
}
