package target

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"kvlab/internal/cli"
)

func TestURL(t *testing.T) {
	var got Target
	if err := got.Set("redis://user:p%40ss@a:1,[::1]:2?preset=base&io=4"); err != nil {
		t.Fatal(err)
	}
	want := map[string]string{"user": "user", "password": "p@ss", "preset": "base", "io": "4"}
	if got.Driver != "redis" || !slices.Equal(got.Servers, []string{"a:1", "[::1]:2"}) || !maps.Equal(got.Settings, want) {
		t.Errorf("%+v", got)
	}
}

// People write an address with or without a port, a path, a user or TLS, or as a socket.
func TestAddresses(t *testing.T) {
	authority := filepath.Join(t.TempDir(), "ca.pem")
	if err := os.WriteFile(authority, []byte("-----BEGIN CERTIFICATE-----"), 0o600); err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string]Target{
		"redis://localhost":                   {Driver: "redis", Servers: []string{"localhost:6379"}},
		"redis://localhost/0":                 {Driver: "redis", Servers: []string{"localhost:6379"}},
		"redis://a,b:7/":                      {Driver: "redis", Servers: []string{"a:6379", "b:7"}},
		"redis://[::1]?db=0":                  {Driver: "redis", Servers: []string{"[::1]:6379"}},
		"redis://:p%2Fw@h/0":                  {Driver: "redis", Servers: []string{"h:6379"}, Settings: map[string]string{"password": "p/w"}},
		"rediss://u:p@h:1":                    {Driver: "redis", Servers: []string{"h:1"}, Settings: map[string]string{"user": "u", "password": "p", "tls": "on"}},
		"valkeys://h?ca=" + authority:         {Driver: "redis", Servers: []string{"h:6379"}, Settings: map[string]string{"tls": "on", "ca": "-----BEGIN CERTIFICATE-----"}},
		"unix://u:p@/run/redis.sock":          {Driver: "redis", Servers: []string{"/run/redis.sock"}, Settings: map[string]string{"user": "u", "password": "p"}},
		"redis:///run/redis.sock":             {Driver: "redis", Servers: []string{"/run/redis.sock"}},
		"memcached://localhost?counts=none":   {Driver: "memcached", Servers: []string{"localhost:11211"}, Settings: map[string]string{"counts": "none"}},
		"memcached:///run/a.sock,/run/b.sock": {Driver: "memcached", Servers: []string{"/run/a.sock", "/run/b.sock"}},
		"http://h:2379":                       {Driver: "etcd", Servers: []string{"h:2379"}},
		"https://h/":                          {Driver: "etcd", Servers: []string{"h:2379"}, Settings: map[string]string{"tls": "on"}},
		"redis-cluster://h":                   {Driver: "redis-cluster", Servers: []string{"h:6379"}},
	} {
		var got, again Target
		if err := got.Set(text); err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		if got.Driver != want.Driver || !slices.Equal(got.Servers, want.Servers) || !maps.Equal(got.Settings, want.Settings) {
			t.Errorf("%s is %+v, want %+v", text, got, want)
		}
		if err := again.Set(got.String()); err != nil || again.Driver != want.Driver || !slices.Equal(again.Servers, want.Servers) {
			t.Errorf("%s is shown as %s, which is %+v, %v", text, got, again, err)
		}
		if password := want.Settings["password"]; password != "" && again.Settings["password"] != "***" {
			t.Errorf("%s is shown as %s", text, got)
		}
	}
}

// A file has the same target as its inline form, which needs no file, and the form of a
// built program names it.
func TestFile(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "team-7.toml")
	text := "name = \"team-7\"; driver = \"lab\"\npreset = \"clawcodes\"\nbuild = \"go build -o {bin} ./kvs/server\"\ndir = \"../team 7\"\nrun = \"{bin} -port {port} -name 'a b'\"\n"
	text = strings.ReplaceAll(text, "; ", "\n")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	var file, inline Target
	if err := file.Set(path); err != nil {
		t.Fatal(err)
	}
	if file.Settings["preset"] != "clawcodes" || file.Dir != filepath.Join(filepath.Dir(dir), "team 7") {
		t.Errorf("%+v", file)
	}
	if _, err := file.Command(Places{}); err == nil {
		t.Error("a program that is not built starts")
	}
	if words, err := file.BuildCommand("/x/y z"); err != nil || !slices.Equal(words, []string{"go", "build", "-o", "/x/y z", "./kvs/server"}) {
		t.Errorf("build %q, %v", words, err)
	}
	if err := inline.Set(file.Built("team").String()); err != nil || inline.Dir != "" || inline.Build != "" {
		t.Fatalf("%+v: %v", inline, err)
	}
	words, err := inline.Find("/bin").Command(Places{Host: "h", Port: "12"})
	if want := []string{"/bin/team", "-port", "12", "-name", "a b"}; err != nil || !slices.Equal(words, want) {
		t.Errorf("%q, %v, want %q", words, err, want)
	}
	if inline.String() != file.Built("team").String() {
		t.Errorf("%s", inline)
	}
}

func TestShipped(t *testing.T) {
	for _, name := range Shipped() {
		var got Target
		if err := got.Set(name); err != nil || got.Name != name || got.String() != name {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
	}
	var got Target
	if err := got.Set("own"); err != nil || !got.Own() || got.String() != "own" {
		t.Errorf("%+v, %v", got, err)
	}
}

// The file of config has the run's secret in it, or no line that names it. A record of the
// target has no secret.
func TestConfig(t *testing.T) {
	for _, name := range []string{"redis", "redis-cluster"} {
		var got, inline Target
		if err := got.Set(name); err != nil {
			t.Fatal(err)
		}
		if text := got.ConfigWith("s3cret"); text != "requirepass s3cret\nmasterauth s3cret\n" {
			t.Errorf("%s: %q", name, text)
		}
		if text := got.ConfigWith(""); text != "" {
			t.Errorf("%s: %q without a secret", name, text)
		}
		if err := inline.Set(got.Built("").String()); err != nil || inline.ConfigWith("s") != got.ConfigWith("s") || inline.Settings["password"] != cli.TokenPassword {
			t.Errorf("%s: %+v, %v", name, inline, err)
		}
	}
	for name, want := range map[string]bool{"base": true, "redis": false, "memcached": false, "etcd": false, "redis://h": false} {
		var got Target
		if err := got.Set(name); err != nil || (got.Open() != "") != want || want && !strings.Contains(got.Open(), "the store base has no password") {
			t.Errorf("%s: %q, %v", name, got.Open(), err)
		}
	}
}

func TestMistakes(t *testing.T) {
	write := func(text string) string {
		path := filepath.Join(t.TempDir(), "x.toml")
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	for _, test := range []struct{ text, want string }{
		{"memcache", "did you mean memcached?"},
		{"redis://h:1?a=1&a=2", "a is given twice"},
		{"redis://", `server "": want host:port`},
		{"lab://h", `server "h": want host:port`},
		{"redis://h:", `server "h:": want host:port`},
		{"redis://h/1", "/1: want no path, or /0 for Redis: kvlab measures database 0"},
		{"server:../lab", "server:../lab: want the file that says how the store there is built and started, such as ../lab/store.toml"},
		{"/usr", "/usr: want the file that says how the store there is built and started, such as /usr/store.toml"},
		{"rediss://h?ca=/etc/hostname", "ca: /etc/hostname has no certificate in PEM"},
		{write("driver = \"x\"\nrun = \"y {port}\"\ndir = \"../z\"\n"), "dir: build runs there, and there is none"},
		{write("driver = \"x\"\nrun = \"y {port}\"\nconfig = \"z\"\n"), "config: want it and {config}"},
		{write("driver = \"x\"\nrun = \"y {port} {config}\"\n"), "config: want it and {config}"},
		{write("driver = \"x\"\nrun = \"y {port}\"\n[settings]\npassword = \"{token}\"\n"), "password {token}: want {token} in config"},
		{"redis://h?db=2", "db=2: want db=0 or none"},
		{"rediss://h?ca=none.pem", "ca: open none.pem: no such file"},
		{`{"driver":"x","rnu":"y"}`, `unknown field "rnu"`},
		{write("driver = \"x\"\nrun = \"y\"\nbiuld = \"z\"\n"), "x.toml:3: unknown key biuld; did you mean build?"},
		{write("driver = \"x\"\nrun = y\n"), "x.toml:2: "},
		{write("driver = \"x\"\n"), "want either run"},
		{write("run = \"x\"\n"), "driver: want"},
		{write("driver = \"x\"\nrun = \"{bin} {port}\"\n"), "{bin} is what build builds"},
		{write("driver = \"x\"\nrun = \"y\"\nbuild = \"make\"\n"), "build: want {bin}"},
		{write("driver = \"x\"\nrun = \"y {hots}\"\n"), "{hots} in \"y {hots}\": want one of {host}, {port}, {port2}, {pprof}, {dir}, {config}, {bin}; did you mean {host}?"},
		{write("driver = \"x\"\nrun = \"y 'z\"\n"), "unbalanced '"},
		{write("driver = \"x\"\nrun = \"y {port}\"\nprofile = \"10.0.0.1:80\"\n"), `profile "10.0.0.1:80": want {host} and a port, as in profile = "{host}:{pprof}" with {pprof} in run, too, or profile = "{host}:6060"`},
		{write("driver = \"x\"\nrun = \"y {port}\"\nprofile = \"{host}:{pprof}\"\n"), "{pprof}: want it in run, so that the server listens there, and in profile, or in neither"},
		{write("driver = \"x\"\nrun = \"y -port 8080\"\n"), `run: "y -port 8080" has no {port}: kvlab gives every server a free port: want {port} where the command names it, as in -port {port}; or servers in place of run, for a store that runs`},
		{write("driver = \"x\"\nrun = \"y {port} && z\"\n"), "run: no shell reads it, so && does nothing: want one command, such as sh script.sh {port}"},
		{write("driver = \"x\"\nrun = \"{bin} {port}\"\nbuild = \"cd ../y && go build -o {bin}\"\n"), `build: no shell reads it, so cd does nothing: want the folder in dir, as in dir = "../team-7"`},
		{write("driver = \"x\"\nrun = \"{bin} {port}\"\nbuild = \"CGO_ENABLED=0 go build -o {bin}\"\n"), "want env before it, as in env CGO_ENABLED=0 go"},
		{write("driver = \"x\"\nrun = \"y {port}\"\npreset = \"a\"\n[settings]\npreset = \"b\"\n"), "preset and settings.preset: want one of them"},
		{filepath.Join(t.TempDir(), "none.toml"), "no such file"},
	} {
		var got Target
		if err := got.Set(test.text); err == nil || !strings.Contains(err.Error(), test.want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: %v, want %q", test.text, err, test.want)
		}
	}
}
