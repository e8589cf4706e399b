// Package target names what is measured: kvlab's own store, or a foreign one that runs
// somewhere, or that the run builds and starts.
package target

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"kvlab/internal/cli"
)

// Target is what is measured. The zero Target is kvlab's own store. It is a flag.Value,
// of -target. The comments name the keys of a target file.
type Target struct {
	Name      string            `toml:"name" json:"name,omitempty"`           // name: in reports; by default the driver's
	Driver    string            `toml:"driver" json:"driver,omitempty"`       // driver: speaks to the store; "" is kvlab's own
	Preset    string            `toml:"preset" json:"preset,omitempty"`       // preset: short for settings.preset
	Transport string            `toml:"transport" json:"transport,omitempty"` // transport: short for settings.transport
	Settings  map[string]string `toml:"settings" json:"settings,omitempty"`   // settings: of the driver
	Servers   []string          `toml:"servers" json:"servers,omitempty"`     // servers: host:port of each server of a store that runs
	Config    string            `toml:"config" json:"config,omitempty"`       // config: the text of the file {config}, which only the store's user reads, with {token} for the run's secret
	Run       string            `toml:"run" json:"run,omitempty"`             // run: the command that starts a server, with placeholders
	Build     string            `toml:"build" json:"build,omitempty"`         // build: the command that builds {bin}
	Dir       string            `toml:"dir" json:"dir,omitempty"`             // dir: the folder in which build runs; relative to the target file's
	Profile   string            `toml:"profile" json:"profile,omitempty"`     // profile: where a server of Go gives its processor profile (net/http/pprof): {host} and a port
	Bin       string            `toml:"-" json:"bin,omitempty"`               // the built program: a path, or a name in the folder of the node's own program

	text string // as String returns it; "" for an inline form
}

// Usage is the help of -target.
var Usage = "what is measured: `own` (kvlab's own store), " + strings.Join(Shipped(), ", ") + "; a store that runs, by a URL such as redis://host:port,host2:port?password=...; or a target file, which says how a store is built and started, such as team-7.toml"

// own is the name of kvlab's own store.
const own = "own"

// Own reports whether the target is kvlab's own store.
func (t Target) Own() bool { return t.Driver == "" }

// String returns a text that Set reads: a name, a URL, or the inline form of a file. A
// password is hidden.
func (t Target) String() string {
	switch {
	case t.Own():
		return own
	case t.text != "":
		return cli.HidePassword(t.text)
	}
	if password := t.Settings["password"]; password != "" && password != cli.TokenPassword {
		t.Settings = maps.Clone(t.Settings)
		t.Settings["password"] = cli.HiddenPassword(password)
	}
	text, _ := json.Marshal(t) // strings alone: no error is possible
	return string(text)
}

// Set reads "own", the name of a shipped target, a URL, the path of a target file, or
// the inline form that String returns. Its errors name the first mistake and the right
// form; those of a file, its line.
func (t *Target) Set(text string) (err error) {
	var read Target
	switch {
	case text == own:
	case strings.HasPrefix(text, "{"):
		err = read.readInline(text)
	case strings.Contains(text, "://"):
		read.text = text
		err = read.readURL(text)
	case strings.HasSuffix(text, ".toml"):
		err = read.readFile(text)
	default:
		read.text = text
		err = read.readShipped(text)
	}
	if err == nil {
		*t = read
	}
	return err
}

// settle completes what was read, and returns an error that names the first mistake.
func (t *Target) settle() error {
	for name, value := range map[string]*string{"preset": &t.Preset, "transport": &t.Transport} {
		if *value == "" {
			continue
		}
		if _, ok := t.Settings[name]; ok {
			return fmt.Errorf("%s and settings.%s: want one of them", name, name)
		}
		t.Settings = maps.Clone(t.Settings)
		if t.Settings == nil {
			t.Settings = make(map[string]string)
		}
		t.Settings[name], *value = *value, ""
	}
	switch {
	case t.Driver == "":
		return errors.New(`driver: want the driver that speaks to the store, as in driver = "redis"`)
	case (t.Run == "") == (len(t.Servers) == 0):
		return errors.New("want either run, the command that starts a server, or servers, the addresses of those that run")
	case (t.Config != "") != strings.Contains(t.Run, "{config}"):
		return errors.New("config: want it and {config}, the path of a file with its text, in run, or neither")
	case t.Profile != "" && !profilePlace.MatchString(t.Profile):
		return fmt.Errorf(`profile %q: want {host} and a port, as in profile = "{host}:{pprof}" with {pprof} in run, too, or profile = "{host}:6060"`, t.Profile)
	case strings.Contains(t.Profile, "{pprof}") != strings.Contains(t.Run, "{pprof}"):
		return errors.New("{pprof}: want it in run, so that the server listens there, and in profile, or in neither")
	case t.Settings["password"] == cli.TokenPassword && !strings.Contains(t.Config, cli.TokenPassword):
		return errors.New("password {token}: want {token} in config, too, so that the store has it")
	case t.Dir != "" && t.Build == "" && len(t.Servers) == 0:
		return errors.New("dir: build runs there, and there is none: run has a fresh folder, {dir}")
	case t.Build != "" && !strings.Contains(t.Run, "{bin}"):
		return errors.New("build: want {bin}, the program that it builds, in run")
	case t.Build == "" && t.Bin == "" && strings.Contains(t.Run, "{bin}"):
		return errors.New("run: {bin} is what build builds: want build, or another program")
	}
	for _, command := range []struct{ key, text string }{{"build", t.Build}, {"run", t.Run}} {
		all, err := words(command.text, nil)
		if err == nil {
			err = checkShell(command.key, all)
		}
		if err != nil {
			return err
		}
	}
	if t.Run != "" && !strings.Contains(t.Run, "{port}") {
		return fmt.Errorf("run: %q has no {port}: kvlab gives every server a free port: want {port} where the command names it, as in -port {port}; or servers in place of run, for a store that runs", t.Run)
	}
	for i, address := range t.Servers {
		var err error
		if t.Servers[i], err = completed(address, t.Driver); err != nil {
			return err
		}
	}
	t.Name = cmp.Or(t.Name, t.Driver)
	return t.embed()
}

// In returns the target with the folder of what it builds below another one, and completes
// it: a target file's text stands for many folders.
func (t Target) In(folder string) (Target, error) {
	err := t.settle()
	if err == nil && (t.Build == "" || len(t.Servers) > 0) {
		err = errors.New("want build and run, which make and start what is in a folder")
	}
	if err == nil && folder != "" {
		t.Dir, err = within(folder, t.Dir)
	}
	return t, err
}

// CheckSubmitted returns an error if the text of a submitted target file asks for
// more than to build and start what is in its folder, by one of some drivers.
func CheckSubmitted(file string, text []byte, folder string, drivers []string) error {
	var t Target
	if err := cli.DecodeTOML(file, text, &t); err != nil {
		return err
	}
	switch {
	case !slices.Contains(drivers, t.Driver):
		return fmt.Errorf("%s: driver %q: this class takes %q", file, t.Driver, drivers)
	case len(t.Servers) > 0:
		return fmt.Errorf("%s: servers: want build and run: a store that runs already is not what was handed in", file)
	case t.Build == "":
		return fmt.Errorf("%s: want build, the command that makes {bin} from what was handed in", file)
	case t.Settings["ca"] != "":
		return fmt.Errorf("%s: settings.ca: want no file of the machine that measures", file)
	}
	if _, err := within(folder, t.Dir); err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	return t.settle()
}

// within returns the path of dir below a folder, with its links resolved: it must be there.
func within(folder, dir string) (string, error) {
	if filepath.IsAbs(dir) {
		return "", fmt.Errorf("dir %q: want a folder below the entry's own", dir)
	}
	own, err := filepath.EvalSymlinks(folder)
	if err != nil {
		return "", err
	}
	path, err := filepath.EvalSymlinks(filepath.Join(own, dir))
	if err != nil {
		return "", fmt.Errorf("dir %q: no such folder", dir)
	}
	if below, err := filepath.Rel(own, path); err != nil || !filepath.IsLocal(below) {
		return "", fmt.Errorf("dir %q leads out of the entry's folder: want one below it", dir)
	}
	return path, nil
}

// checkShell returns an error for the first word that only a shell understands.
func checkShell(key string, words []string) error {
	for i, word := range words {
		switch {
		case word == "cd" && i == 0 && key == "build":
			return errors.New(`build: no shell reads it, so cd does nothing: want the folder in dir, as in dir = "../team-7"`)
		case slices.Contains([]string{"cd", "export", "source"}, word) && i == 0,
			slices.Contains([]string{"&&", "||", ";", "|", "&", "<", ">", ">>", "2>&1"}, word), strings.HasPrefix(word, "$"):
			return fmt.Errorf("%s: no shell reads it, so %s does nothing: want one command, such as sh script.sh {port}", key, word)
		case i == 0 && strings.Contains(word, "="):
			return fmt.Errorf("%s: no shell reads it, so %s sets nothing: want env before it, as in env %s %s", key, word, word, strings.Join(words[1:min(2, len(words))], ""))
		}
	}
	return nil
}

// ConfigWith returns the text of config with a secret where cli.TokenPassword stands for it. Without one,
// as without a launcher, the store has no password: the lines that name it are left out.
func (t Target) ConfigWith(secret string) string {
	var lines []string
	for line := range strings.Lines(t.Config) {
		if secret != "" || !strings.Contains(line, cli.TokenPassword) {
			lines = append(lines, strings.ReplaceAll(line, cli.TokenPassword, secret))
		}
	}
	return strings.Join(lines, "")
}

// Open returns a warning about a store that is started and that perhaps everyone can use; "" if
// it has a password, or listens where it is told to.
func (t Target) Open() string {
	if t.Run == "" || t.Settings["password"] != "" || strings.Contains(t.Run, "{host}") {
		return ""
	}
	return fmt.Sprintf("the store %s has no password and no {host} in its run, so that it may listen on every address of its nodes: during the run, all who reach one can use it", t.Name)
}

// Places are what stands for the placeholders of the command run.
type Places struct {
	Host, Port string // where the server listens
	Second     string // {port2}: a second port, for servers that listen on two
	Pprof      string // {pprof}: another one, for its profile
	Dir        string // a fresh folder, in which the command runs
	Config     string // the path of the file with the text of config
}

// Command returns the words of the command that starts a server. No shell reads them.
func (t Target) Command(p Places) ([]string, error) {
	if t.Build != "" && t.Bin == "" {
		return nil, fmt.Errorf("-target %s: its program is not built: run-cluster.sh builds it", t.Name)
	}
	return words(t.Run, map[string]string{"host": p.Host, "port": p.Port, "port2": p.Second, "pprof": p.Pprof, "dir": p.Dir, "config": p.Config, "bin": t.Bin})
}

// profilePlace matches where a server's profile is: on no other machine.
var profilePlace = regexp.MustCompile(`^\{host\}:([0-9]+|\{port2?\}|\{pprof\})$`)

// ProfileAt returns the host:port where a server gives its profile; "" for nowhere.
func (t Target) ProfileAt(p Places) string {
	_, port, _ := strings.Cut(t.Profile, ":")
	if port == "" {
		return ""
	}
	return net.JoinHostPort(p.Host, strings.NewReplacer("{port}", p.Port, "{port2}", p.Second, "{pprof}", p.Pprof).Replace(port))
}

// BuildCommand returns the words of the command that builds the program to a path.
func (t Target) BuildCommand(bin string) ([]string, error) {
	return words(t.Build, map[string]string{"bin": bin})
}

// Built returns the target with its program at a path, or with a name beside the node's
// own program.
func (t Target) Built(bin string) Target {
	t.Bin, t.Build, t.Dir, t.text = bin, "", "", ""
	return t
}

// At returns the target with its servers at some addresses.
func (t Target) At(servers []string) Target {
	if !slices.Equal(servers, t.Servers) {
		t.Servers, t.text = servers, ""
	}
	return t
}

// Find sets the path of a program that has only a name.
func (t Target) Find(folder string) Target {
	if t.Bin != "" && !filepath.IsAbs(t.Bin) {
		t.Bin = filepath.Join(folder, t.Bin)
	}
	return t
}

var placeholder = regexp.MustCompile(`\{[a-z]+[0-9]?\}`)

var placeholders = []string{"{host}", "{port}", "{port2}", "{pprof}", "{dir}", "{config}", "{bin}"}

// words splits a command and replaces its placeholders. Without values it only checks it.
func words(command string, values map[string]string) ([]string, error) {
	for _, name := range placeholder.FindAllString(command, -1) {
		if !slices.Contains(placeholders, name) {
			return nil, fmt.Errorf("%s in %q: want one of %s%s", name, command, strings.Join(placeholders, ", "), cli.DidYouMean(name, "", placeholders))
		}
	}
	words, err := cli.SplitWords(command)
	if err != nil {
		return nil, fmt.Errorf("%q: %w", command, err)
	}
	for i, word := range words {
		words[i] = placeholder.ReplaceAllStringFunc(word, func(name string) string { return values[name[1:len(name)-1]] })
	}
	return words, nil
}
