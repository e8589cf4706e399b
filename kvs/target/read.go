package target

import (
	"embed"
	"encoding/json"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"kvlab/metrics/input"
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
	if !slices.Contains(names, name) {
		return fmt.Errorf("want %s, %s, a URL such as redis://host:port, or a file that ends in .toml%s",
			own, strings.Join(names, ", "), input.DidYouMean(name, "", append(names, own)))
	}
	file := "shipped/" + name + ".toml"
	text, _ := shipped.ReadFile(file) // its name is known
	return t.readTOML(file, text)
}

// readURL reads driver://host:port,host2:port2?setting=value&... A user and a password
// before the hosts are the settings username and password.
func (t *Target) readURL(text string) error {
	scheme, rest, _ := strings.Cut(text, "://")
	rest, query, _ := strings.Cut(rest, "?")
	t.Driver, t.Settings = scheme, make(map[string]string)
	if i := strings.LastIndex(rest, "@"); i >= 0 {
		user, password, _ := strings.Cut(rest[:i], ":")
		for name, value := range map[string]string{"username": user, "password": password} {
			value, err := url.PathUnescape(value)
			if err != nil {
				return err
			}
			if value != "" {
				t.Settings[name] = value
			}
		}
		rest = rest[i+1:]
	}
	t.Servers = strings.Split(strings.TrimSuffix(rest, "/"), ",")
	values, err := url.ParseQuery(query)
	if err != nil {
		return err
	}
	for name, all := range values {
		if _, twice := t.Settings[name]; twice || len(all) > 1 {
			return fmt.Errorf("%s is given twice", name)
		}
		t.Settings[name] = all[0]
	}
	return t.settle()
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
	if err := input.DecodeTOML(file, text, t); err != nil {
		return err
	}
	if err := t.settle(); err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	return nil
}

func (t *Target) readInline(text string) error {
	decoder := json.NewDecoder(strings.NewReader(text))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(t); err != nil {
		return fmt.Errorf("inline form: %w", err)
	}
	return t.settle()
}
