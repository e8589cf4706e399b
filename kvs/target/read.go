package target

import (
	"embed"
	"encoding/json"
	"fmt"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"kvlab/internal/cli"
)

//go:embed shipped/*.toml
var shipped embed.FS

// Shipped returns the names of the targets that come with kvlab.
func Shipped() (names []string) {
	files, _ := shipped.ReadDir("shipped") // it is embedded
	for _, f := range files {
		names = append(names, strings.TrimSuffix(f.Name(), ".toml"))
	}
	return names
}

func (t *Target) readShipped(name string) error {
	names := Shipped()
	path := strings.TrimPrefix(name, "server:") // of --ab, where a checkout of kvlab follows
	if info, err := os.Stat(path); path != name || err == nil && info.IsDir() {
		return fmt.Errorf("%s: want the file that says how the store there is built and started, such as %s", name, filepath.Join(path, "store.toml"))
	}
	if _, isNumber := cli.ParseCount(name); isNumber {
		return fmt.Errorf("%s: want the store; operations per second are -rate %[1]s", name)
	}
	if !slices.Contains(names, name) {
		return fmt.Errorf("want %s, %s, a URL such as redis://host:port, or a file that ends in .toml%s",
			own, strings.Join(names, ", "), cli.DidYouMean(name, "", append(names, own)))
	}
	file := "shipped/" + name + ".toml"
	text, _ := shipped.ReadFile(file) // its name is known
	return t.readTOML(file, text)
}

// scheme is a word before :// that people use for a store.
type scheme struct {
	driver string
	port   string // the usual one
	tls    bool
}

// schemes are the schemes with a usual port or TLS. Any other is a driver's name.
var schemes = map[string]scheme{
	"redis": {"redis", "6379", false}, "rediss": {"redis", "6379", true}, "unix": {"redis", "", false},
	"valkey": {"redis", "6379", false}, "valkeys": {"redis", "6379", true},
	"redis-cluster": {"redis-cluster", "6379", false}, "memcached": {"memcached", "11211", false},
	"etcd": {"etcd", "2379", false}, "http": {"etcd", "2379", false}, "https": {"etcd", "2379", true},
}

// readURL reads scheme://user:password@host:port,host2:port2/0?setting=value&... Only the
// hosts are necessary. A path in place of them is a Unix socket's.
func (t *Target) readURL(text string) error {
	word, rest, _ := strings.Cut(text, "://")
	rest, query, _ := strings.Cut(rest, "?")
	s, known := schemes[word]
	if !known {
		s.driver = word
	}
	t.Driver, t.Settings = s.driver, make(map[string]string)
	if i := strings.LastIndex(rest, "@"); i >= 0 {
		user, password, _ := strings.Cut(rest[:i], ":")
		for name, value := range map[string]string{"user": user, "password": password} {
			value, err := url.PathUnescape(value)
			if err != nil {
				return fmt.Errorf("%s: %w", name, err)
			}
			if value != "" {
				t.Settings[name] = value
			}
		}
		rest = rest[i+1:]
	}
	if !strings.HasPrefix(rest, "/") { // a Unix socket's path is the address
		var path string
		if rest, path, _ = strings.Cut(rest, "/"); path != "" && path != "0" {
			return fmt.Errorf("/%s: want no path, or /0 for Redis: kvlab measures database 0, whose keys the store's counters tell", path)
		}
	}
	t.Servers = strings.Split(rest, ",")
	if s.tls {
		t.Settings["tls"] = "on"
	}
	values, err := url.ParseQuery(query)
	if err != nil {
		return err
	}
	for name, all := range values {
		if name == "db" {
			if len(all) == 1 && all[0] == "0" {
				continue
			}
			return fmt.Errorf("db=%s: want db=0 or none: kvlab measures database 0, whose keys the store's counters tell", all[0])
		}
		if _, twice := t.Settings[name]; twice || len(all) > 1 {
			return fmt.Errorf("%s is given twice", name)
		}
		t.Settings[name] = all[0]
	}
	return t.settle()
}

// completed returns an address with the usual port of a driver, if it lacks one.
func completed(address, driver string) (string, error) {
	if strings.HasPrefix(address, "/") { // a Unix socket
		return address, nil
	}
	host, port, err := net.SplitHostPort(address)
	if err != nil && !strings.HasSuffix(address, ":") {
		host, port, err = net.SplitHostPort(address + ":" + schemes[driver].port)
	}
	if err != nil || host == "" || port == "" {
		return "", fmt.Errorf("server %q: want host:port", address)
	}
	return net.JoinHostPort(host, port), nil
}

// embed replaces the setting ca, a file of certificates, by its text, which nodes need no
// file for.
func (t *Target) embed() error {
	file := t.Settings["ca"]
	if file == "" || strings.HasPrefix(file, "-----BEGIN") {
		return nil
	}
	text, err := os.ReadFile(file)
	switch {
	case err != nil:
		return fmt.Errorf("ca: %w", err)
	case !strings.HasPrefix(string(text), "-----BEGIN"):
		return fmt.Errorf("ca: %s has no certificate in PEM: want -----BEGIN CERTIFICATE----- first", file)
	}
	t.Settings["ca"], t.text = string(text), ""
	return nil
}

func (t *Target) readFile(path string) error {
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	if err := t.readTOML(path, text); err != nil {
		return err
	}
	if t.Build != "" {
		if !filepath.IsAbs(t.Dir) {
			t.Dir = filepath.Join(filepath.Dir(path), t.Dir)
		}
		t.Dir, err = filepath.Abs(t.Dir)
	}
	return err
}

// readTOML reads the text of a target file.
func (t *Target) readTOML(file string, text []byte) error {
	err := cli.DecodeTOML(file, text, t)
	if err == nil {
		if err = t.settle(); err == nil {
			return nil
		}
		err = cli.Mistake(file, text, err)
	}
	var s System
	if cli.DecodeTOML(file, text, &s) == nil && (s.Client != nil || strings.Contains(s.Run, "{hosts}")) {
		return fmt.Errorf("%s: it is the file of a %s: want --%[2]s %[1]s", file, s.flag())
	}
	return err
}

func (t *Target) readInline(text string) error {
	decoder := json.NewDecoder(strings.NewReader(text))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(t); err != nil {
		return fmt.Errorf("inline form: %w", err)
	}
	return t.settle()
}
