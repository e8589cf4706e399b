package target

import (
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// systemFile writes a file and returns its path.
func systemFile(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "team-7.toml")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// A file and the inline form of what it says start the same programs, with the settings that flags
// change.
func TestSystem(t *testing.T) {
	path := systemFile(t, `
[server]
dir = "sub"
build = "go build -o {bin} ./kvs/server"
run = "{bin} -port {port} -shards {shards}"
settings = {shards = 64}
[client]
run = "/x/client -hosts {hosts} -secs {secs} -batch {batchSize} -theta {theta} {name}"
result = "rate ([0-9.]+)"
settings = {batchSize = 1024, name = "a b"}
`)
	var s, inline System
	if err := s.Set(path); err != nil {
		t.Fatal(err)
	}
	if s.Name != "team-7" || s.Server.Dir != filepath.Join(filepath.Dir(path), "sub") || s.Client.Takes("workload") || !s.Client.Takes("theta") {
		t.Errorf("%+v %+v", s, s.Server)
	}
	s.Server.Bin, s.Server.Build, s.Server.Dir = "/x/server", "", ""
	if err := inline.Set(s.String()); err != nil {
		t.Fatal(err)
	}
	fs := flag.NewFlagSet("node", flag.ContinueOnError)
	fs.Var(&inline, "system", "")
	for _, p := range inline.Programs() {
		if err := p.Define(fs); err != nil {
			t.Fatal(err)
		}
	}
	if err := fs.Parse([]string{"-batchSize=8", "-shards", "2", "-system", s.String()}); err != nil {
		t.Fatal(err)
	}
	words, err := inline.Client.Words(map[string]string{"hosts": "h:1,h:2", "secs": "3", "theta": "0.99"})
	if want := []string{"/x/client", "-hosts", "h:1,h:2", "-secs", "3", "-batch", "8", "-theta", "0.99", "a b"}; err != nil || !slices.Equal(words, want) {
		t.Errorf("%q, %v, want %q", words, err, want)
	}
	words, err = inline.Target().Command(Places{Port: "7"})
	if want := []string{"/x/server", "-port", "7", "-shards", "2"}; err != nil || !slices.Equal(words, want) {
		t.Errorf("%q, %v, want %q", words, err, want)
	}
	if err := inline.Client.Define(fs); err == nil || !strings.Contains(err.Error(), "settings.batchSize: node has a flag of this name") {
		t.Errorf("%v", err)
	}
}

func TestSystemMistakes(t *testing.T) {
	const client = `run = "c {hosts} {secs}"` + "\n"
	for text, want := range map[string]string{
		"":                               "want the command that starts the client",
		"[server]\nrun = \"s {port}\"\n": "in [client]",
		client + "[server]\nrun = \"s {port}\"\n":                                   "run: want it in [client] and [server]",
		"[client]\n" + client + "[server]\nrun = \"s\"\n":                           `server: run: "s" has no {port}`,
		"run = \"c {secs}\"\n":                                                      `client: run: "c {secs}" has no {hosts}`,
		"run = \"c {hosts}\"\n":                                                     "run: want {secs}",
		"run = \"c {hosts} {secs} {host}\"\n":                                       "{host}: want one of",
		"run = \"c {hosts} {secs} {batch}\"\nsettings = {bacth = 1}\n":              "did you mean bacth?",
		client + "settings = {batch = 1}\n":                                         "settings.batch: run has no {batch}, so it has no effect",
		client + "settings = {theta = 1}\n":                                         "{theta} is kvlab's",
		client + "settings = {batch = [1]}\n":                                       "settings.batch: want a number, a text, true or false",
		client + "result = \"x\"\n":                                                 "has 0 groups: want one",
		client + "result = \"(\"\n":                                                 "result: error parsing regexp",
		client + "build = \"make\"\n":                                               "build: want {bin}",
		client + "dir = \"x\"\n":                                                    "dir: build runs there, and there is none",
		"run = \"{bin} {hosts} {secs}\"\n":                                          "{bin} is what build builds",
		"run = \"c {hosts} {secs} | tee x\"\n":                                      "no shell reads it, so | does nothing",
		client + "rnu = 1\n":                                                        "team-7.toml:2: unknown key rnu; did you mean run?",
		"preset = \"base\"\n[client]\n" + client + "[server]\nrun = \"s {port}\"\n": "preset: want it of a client alone",
	} {
		var s System
		if err := s.Set(systemFile(t, text)); err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
}
