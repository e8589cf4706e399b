package target

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"kvlab/internal/cli"
	"kvlab/metrics"
)

// Program is a program of a team that a node starts: its client, or a server of its system. The
// comments name the keys of its table.
type Program struct {
	Dir      string         `toml:"dir" json:"dir,omitempty"`           // dir: the folder in which build runs; relative to the file's
	Build    string         `toml:"build" json:"build,omitempty"`       // build: the command that builds {bin}
	Run      string         `toml:"run" json:"run,omitempty"`           // run: the command that starts it, with placeholders
	Result   string         `toml:"result" json:"result,omitempty"`     // result: a regular expression whose group is operations per second; "": the labs' lines
	Settings map[string]any `toml:"settings" json:"settings,omitempty"` // settings: the program's own flags with their defaults, each with a placeholder in run
	Bin      string         `toml:"-" json:"bin,omitempty"`             // the built program, as in Target
}

// System names a team's own client, which runs against kvlab's servers, or its client and its
// servers. It is a flag.Value, of -program and -system.
type System struct {
	Name   string `toml:"name" json:"name,omitempty"`     // name: in reports; by default the file's
	Preset string `toml:"preset" json:"preset,omitempty"` // preset: of a client alone, the form of the course that it speaks

	Program          // of a client alone, as it is read; then Client has it
	Client  *Program `toml:"client" json:"client,omitempty"`
	Server  *Program `toml:"server" json:"server,omitempty"` // nil of a client alone

	text string // that Set has read
	file string // that it has read; "" of the form that String returns
}

// flag returns the flag that takes the file.
func (s System) flag() string {
	if s.Server != nil {
		return "system"
	}
	return "client"
}

// CheckFlag returns an error if a file is not for the flag that names it.
func (s System) CheckFlag(flag string) error {
	if right := s.flag(); s.file != "" && right != flag {
		has := map[string]string{"system": "it has [server], so it is a system's", "client": "it has no [server], so it is a client's"}
		return fmt.Errorf("%s: %s: want --%s %[1]s", s.file, has[right], right)
	}
	return nil
}

// Mistake returns an error that begins with a key, as in "client: run: ...", with its file and line.
func (s System) Mistake(err error) error {
	if text, unread := os.ReadFile(s.file); unread == nil {
		return cli.Mistake(s.file, text, err)
	}
	return fmt.Errorf("%s: %w", s.Name, err)
}

// ClientUsage and SystemUsage are the help of the flags of a client alone and of a system.
const (
	ClientUsage = "a team's own client, which runs against kvlab's servers: the `file` that says how it is built and started, such as team-7.toml"
	SystemUsage = "a team's own servers and clients, as they are: the `file` that says in [server] and [client] how they are built and started, such as team-7.toml; such a result is CLAIMED, never VALID"
)

// String returns a text that Set reads.
func (s System) String() string {
	if s.Client == nil {
		return ""
	}
	text, _ := json.Marshal(s) // strings alone: no error is possible
	return string(text)
}

// Set reads the path of a file, or the form that String returns. Its errors name the first
// mistake, with its line where it has one.
func (s *System) Set(text string) (err error) {
	if text == s.text { // flags that Define has defined are of what was read first
		return nil
	}
	read := System{text: text}
	if strings.HasPrefix(text, "{") {
		if err = json.Unmarshal([]byte(text), &read); err == nil {
			err = read.settle()
		}
	} else {
		err = read.readFile(text)
	}
	if err == nil {
		*s = read
	}
	return err
}

func (s *System) readFile(path string) error {
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	if err := cli.DecodeTOML(path, text, s); err != nil {
		var t Target
		if cli.DecodeTOML(path, text, &t) == nil && t.Driver != "" {
			return fmt.Errorf("%s: it is the file of a server: want --target %[1]s", path)
		}
		return err
	}
	s.file = path
	if s.Name == "" {
		s.Name = strings.TrimSuffix(filepath.Base(path), ".toml")
	}
	if err := s.settle(); err != nil {
		return s.Mistake(err)
	}
	for _, p := range s.Programs() {
		if p.Build == "" {
			continue
		}
		if !filepath.IsAbs(p.Dir) {
			p.Dir = filepath.Join(filepath.Dir(path), p.Dir)
		}
		if p.Dir, err = filepath.Abs(p.Dir); err != nil {
			return err
		}
	}
	return nil
}

// Programs returns the client and the server, if the file has one.
func (s *System) Programs() []*Program {
	return slices.DeleteFunc([]*Program{s.Client, s.Server}, func(p *Program) bool { return p == nil })
}

// settle completes what was read, and returns an error that names the first mistake.
func (s *System) settle() error {
	alone := s.Run != "" || s.Build != "" || s.Dir != "" || s.Result != "" || s.Settings != nil
	switch {
	case alone && (s.Client != nil || s.Server != nil):
		return errors.New("run: want it in [client] and [server], or the keys of a client alone without a table")
	case alone:
		client := s.Program
		s.Client, s.Program = &client, Program{}
	case s.Client == nil:
		return errors.New(`run: want the command that starts the client, as in run = "{bin} -hosts {hosts} -secs {secs}", for a system in [client]`)
	case s.Server != nil && s.Preset != "":
		return errors.New("preset: want it of a client alone: a system has servers of its own")
	}
	if s.Server != nil {
		if err := s.Server.settle("port", "{port}", "its server's port"); err != nil {
			return fmt.Errorf("server: %w", err)
		}
	}
	if err := s.Client.settle("hosts", "{hosts}", "the servers' addresses"); err != nil {
		return fmt.Errorf("client: %w", err)
	}
	if !strings.Contains(s.Client.Run, "{secs}") {
		return errors.New("client: run: want {secs}, the seconds of the run, where the command names them, as in -secs {secs}: what is claimed is of that time")
	}
	return nil
}

// Given are the placeholders of run that kvlab fills in. Those of a client's workload are flags
// of kvsclient, too.
var (
	serverGiven   = []string{"host", "port", "port2", "dir", "bin"}
	WorkloadGiven = []string{"theta", "workload", "records", "seed"}
	clientGiven   = append([]string{"hosts", "secs", "client", "clients", "dir", "bin"}, WorkloadGiven...)
)

// named matches a placeholder: a setting may have any name of a flag.
var named = regexp.MustCompile(`\{[A-Za-z][A-Za-z0-9_.-]*\}`)

// settle checks a program. A client's needs {hosts}, a server's {port}.
func (p *Program) settle(needs, form, what string) error {
	given := clientGiven
	if needs == "port" {
		given = serverGiven
	}
	for name, value := range p.Settings {
		switch value.(type) {
		case string, bool, int64, float64:
		default:
			return fmt.Errorf("settings.%s: want a number, a text, true or false", name)
		}
		if slices.Contains(given, name) || !named.MatchString("{"+name+"}") {
			return fmt.Errorf("settings.%s: {%[1]s} is kvlab's: want another name, or {%[1]s} in run alone", name)
		}
		p.Settings[name] = fmt.Sprint(value)
	}
	known := slices.Concat(given, slices.Sorted(maps.Keys(p.Settings)))
	used := named.FindAllString(p.Run, -1)
	for _, place := range used {
		if name := strings.Trim(place, "{}"); !slices.Contains(known, name) {
			return fmt.Errorf("run: %s: want one of {%s}, or a default in [settings]%s", place, strings.Join(known, "}, {"), cli.DidYouMean(name, "", known))
		}
	}
	for name := range p.Settings {
		if !slices.Contains(used, "{"+name+"}") {
			return fmt.Errorf("settings.%s: run has no {%[1]s}, so it has no effect", name)
		}
	}
	pattern, err := regexp.Compile(p.Result)
	switch {
	case p.Run == "":
		return errors.New("run: want the command that starts it")
	case !slices.Contains(used, form):
		return fmt.Errorf("run: %q has no %s: want %s where the command names it", p.Run, form, what)
	case err != nil:
		return fmt.Errorf(`result: %w: want a regular expression with one group, as in result = "throughput ([0-9.]+)"`, err)
	case p.Result != "" && pattern.NumSubexp() != 1:
		return fmt.Errorf(`result: %q has %d groups: want one, of the operations per second, as in "throughput ([0-9.]+)"`, p.Result, pattern.NumSubexp())
	case p.Build != "" && !strings.Contains(p.Build, "{bin}"):
		return errors.New("build: want {bin}, the path at which it makes the program")
	case p.Build == "" && p.Bin == "" && slices.Contains(used, "{bin}"):
		return errors.New("run: {bin} is what build builds: want build")
	case p.Dir != "" && p.Build == "":
		return errors.New("dir: build runs there, and there is none")
	}
	for key, command := range map[string]string{"run": p.Run, "build": p.Build} {
		words, err := cli.SplitWords(command)
		if err == nil {
			err = checkShell(key, words)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// Define defines the program's settings as flags, whose values it then has. Its error names one
// that is a flag already.
func (p *Program) Define(fs *flag.FlagSet) error {
	for _, name := range slices.Sorted(maps.Keys(p.Settings)) {
		if fs.Lookup(name) != nil {
			return fmt.Errorf("settings.%s: %s has a flag of this name: want another, as in run = \"... -%[1]s {its-%[1]s}\"", name, fs.Name())
		}
		fs.Var(setting{p, name}, name, "of the program")
	}
	return nil
}

// setting is a flag.Value of a program's setting.
type setting struct {
	of   *Program
	name string
}

func (s setting) String() string {
	if s.of == nil {
		return ""
	}
	return fmt.Sprint(s.of.Settings[s.name])
}

func (s setting) Set(text string) error { s.of.Settings[s.name] = text; return nil }

// Takes reports whether run has a placeholder.
func (p *Program) Takes(name string) bool { return strings.Contains(p.Run, "{"+name+"}") }

// Words returns the words of run with values for its placeholders, and the settings.
func (p *Program) Words(values map[string]string) ([]string, error) {
	words, err := cli.SplitWords(p.Run)
	for i, word := range words {
		words[i] = named.ReplaceAllStringFunc(word, func(place string) string {
			name := strings.Trim(place, "{}")
			if value, ok := p.Settings[name]; ok {
				return fmt.Sprint(value)
			}
			return values[name]
		})
	}
	return words, err
}

// EndsWithin is how long after its {secs} a client may still run: some of the course's compute the
// law of 10^6 keys, connect and wait for their last calls.
const EndsWithin = time.Minute

// Claims is the driver of a team's servers, which only their own client speaks to.
const Claims = metrics.ClaimsDriver

// Target returns the target that starts a server of the system, with its settings in run.
func (s System) Target() Target {
	t := Target{Name: s.Name, Driver: Claims, Run: s.Server.Run, Dir: s.Server.Dir, Build: s.Server.Build, Bin: s.Server.Bin, Settings: map[string]string{}}
	for name, value := range s.Server.Settings {
		t.Settings[name] = fmt.Sprint(value)
		t.Run = strings.ReplaceAll(t.Run, "{"+name+"}", fmt.Sprint(value))
	}
	return t
}

// Named returns the value of the last of some flags in arguments; "" without one.
func Named(args []string, flags ...string) (value string) {
	for i, arg := range args {
		name, joined, ok := strings.Cut(strings.TrimLeft(arg, "-"), "=")
		switch {
		case !strings.HasPrefix(arg, "-") || !slices.Contains(flags, name):
		case ok:
			value = joined
		case i+1 < len(args):
			value = args[i+1]
		}
	}
	return value
}
