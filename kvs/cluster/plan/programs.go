package plan

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"kvlab/kvs/cluster/nodes"
	"kvlab/kvs/node"
	"kvlab/metrics"
)

// Store is the role of a foreign store's program, which a server's process starts, and Team that
// of a team's own client, which a client's process starts. Launcher is the role of the launcher's
// program, which contains submitted programs. Trace is the role of a file that is no program: the
// trace of -replay, which clients read.
const (
	Store    metrics.Role = "store"
	Team     metrics.Role = "team"
	Launcher metrics.Role = "cluster"
	Trace    metrics.Role = "trace"
)

// Programs has the paths of the programs on this machine: a server's, a client's, and those of a
// foreign store and the launcher if a run needs them.
type Programs map[metrics.Role]string

// ProgramsIn returns the programs in a folder.
func ProgramsIn(bin string) Programs {
	return Programs{
		metrics.Server: filepath.Join(bin, Program(metrics.Server)),
		metrics.Client: filepath.Join(bin, Program(metrics.Client)),
	}
}

// Sums returns the SHA-256 of each program in hex.
func (p Programs) Sums() (map[metrics.Role]string, error) {
	sums, of := make(map[metrics.Role]string), make(map[string]string) // roles may share a path
	for role, path := range p {
		if of[path] == "" {
			sum, err := sumOf(path)
			if err != nil {
				return nil, err
			}
			of[path] = sum
		}
		sums[role] = of[path]
	}
	return sums, nil
}

// sumOf returns the SHA-256 of a file in hex.
func sumOf(path string) (string, error) {
	file, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer file.Close()
	sum := sha256.New()
	_, err = io.Copy(sum, file)
	return fmt.Sprintf("%x", sum.Sum(nil)), err
}

// words returns the command line of a program. A server's is wrapped, unless wrap is nil.
func (p Programs) words(role metrics.Role, wrap Wrapper, args ...string) []string {
	words := append([]string{p[role]}, args...)
	if role == metrics.Server && wrap != nil {
		words = wrap.Command(p[Launcher], false, nil, words...)
	}
	return words
}

// ask runs a program, as words starts it, and decodes its JSON answer. The error is the
// program's message.
func (p Programs) ask(ctx context.Context, role metrics.Role, wrap Wrapper, answer any, args ...string) error {
	words := p.words(role, wrap, args...)
	text, err := nodes.Ask(ctx, words[0], words[1:]...)
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) { // without a message
		return fmt.Errorf("ask %s for its %s: %w", Program(role), args[0][1:], err)
	} else if err != nil {
		return err
	}
	if err := json.Unmarshal([]byte(text), answer); err != nil {
		return fmt.Errorf("%s %s: %w", Program(role), args[0], err)
	}
	return nil
}

// Find asks a running foreign store which servers it has.
func (p Programs) Find(ctx context.Context, q node.Search) (found node.Found, err error) {
	ctx, cancel := context.WithTimeout(ctx, findWithin)
	defer cancel()
	question, err := json.Marshal(q)
	if err != nil {
		return found, err
	}
	cmd := exec.CommandContext(ctx, p[metrics.Server], node.FindFlag)
	cmd.Stdin = bytes.NewReader(question) // not an argument: it has the password
	text, err := nodes.Output(cmd)
	if err != nil {
		return found, errors.New(strings.TrimPrefix(err.Error(), Program(metrics.Server)+": "))
	}
	return found, json.Unmarshal([]byte(text), &found)
}

const findWithin = 15 * time.Second

// Flags asks both programs for their flags, and leaves out those that the launcher sets.
func (p Programs) Flags(ctx context.Context) (Flags, error) {
	flags := make(Flags)
	for _, role := range []metrics.Role{metrics.Server, metrics.Client} {
		if role == metrics.Client && p[role] == p[metrics.Server] { // one program of both roles
			flags[role] = flags[metrics.Server]
			break
		}
		var answer []metrics.Flag
		if err := p.ask(ctx, role, nil, &answer, "-flags"); err != nil {
			return nil, err
		}
		flags[role] = slices.DeleteFunc(answer, func(f metrics.Flag) bool { return f.Class == metrics.OwnFlag })
	}
	return flags, nil
}

// protocols returns the text that a role's program prints after its version, such as "wire 5,
// values 1, control 1, records 2"; "" if there is none.
func (p Programs) protocols(ctx context.Context, role metrics.Role, wrap Wrapper) string {
	words := p.words(role, wrap, "-version")
	line, err := nodes.Ask(ctx, words[0], words[1:]...)
	if err != nil {
		return ""
	}
	_, protocols, _ := strings.Cut(strings.TrimSpace(line), ", ")
	return protocols
}

// CheckControl returns an error unless the launcher can control both programs of another
// commit and read their records.
func (p Programs) CheckControl(ctx context.Context, wrap Wrapper) error {
	for _, role := range []metrics.Role{metrics.Server, metrics.Client} {
		if says := p.protocols(ctx, role, wrap); !strings.HasSuffix(says, node.Led) {
			return fmt.Errorf("its %s is of another format: it says %q, this launcher wants %q", Program(role), says, node.Led)
		}
	}
	return nil
}

// CheckProtocols returns an error unless servers and clients, whose programs are of
// different commits, speak the same protocols.
func (p Programs) CheckProtocols(ctx context.Context, wrap Wrapper) error {
	server, client := p.protocols(ctx, metrics.Server, wrap), p.protocols(ctx, metrics.Client, wrap)
	if server == client {
		return nil
	}
	return fmt.Errorf("its servers speak %s, this checkout's clients %s: commit:REV takes both programs of a commit", server, client)
}

// Deployed returns the path of the program of Store or Team relative to the folder of the node's
// own program, as Runner.Deploy copies both.
func (p Programs) Deployed(role metrics.Role) (string, error) {
	sums, err := p.Sums()
	return filepath.Join("..", Folder(sums[role]), Program(role)), err
}

// Folder returns the name of a program's folder on a node, from the program's SHA-256.
func Folder(sum string) string { return sum[:min(16, len(sum))] }

// Check makes each program parse the arguments of its role's first place, before any process
// starts, and returns the final values of their flags.
func (p Programs) Check(ctx context.Context, plan Plan) (map[metrics.Role]metrics.Settings, error) {
	servers := plan.Count(metrics.Server)
	var hosts []string
	for _, place := range plan.Places[:servers] {
		hosts = append(hosts, place.Listen)
	}
	settings := make(map[metrics.Role]metrics.Settings)
	for _, place := range []Place{plan.Places[0], plan.Places[servers]} {
		var values metrics.Settings
		if err := p.ask(ctx, place.Role, plan.whole(), &values, append([]string{"-settings"}, plan.Args(place, 0, hosts)...)...); err != nil {
			return nil, err
		}
		settings[place.Role] = values
	}
	return settings, nil
}
