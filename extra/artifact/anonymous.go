package artifact

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"net/netip"
	"os"
	"os/user"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"kvlab/metrics"
	"kvlab/metrics/manifest"
	"kvlab/plots/verify"
)

// mask replaces what says who made a run, and on which machines. The same name gets the same
// replacement everywhere.
type mask struct {
	root, home string
	machines   map[string]string // names of machines, of nodes and of users
	authors    map[string]string // of the source, and of where it comes from
	dirs       map[string]string
	addresses  map[string]string
}

// hide replaces names in the data and in the source, and reads the run again from the data.
func (a *artifact) hide() (err error) {
	if !a.anonymous {
		return nil
	}
	before, err := differences(a.run)
	if err != nil {
		return err
	}
	if a.mask, err = a.newMask(); err == nil {
		err = cmp.Or(a.each(dataFolder, a.mask.data), a.each(sourceFolder, a.mask.source), signAgain(a.path(dataFolder)))
	}
	if err != nil {
		return err
	}
	a.tree.diff = []byte(a.mask.source(string(a.tree.diff)))
	for i, note := range a.notes {
		a.notes[i] = a.mask.data(note)
	}
	a.notes = append(a.notes, "the names of machines, users and authors, addresses, paths and remotes: each is replaced by one word everywhere, such as node0, user0 and author0")
	a.run = a.path(dataFolder)
	if err := a.read(); err != nil {
		return err
	}
	after, err := differences(a.run)
	if len(after) > len(before) {
		a.notes = append(a.notes, "data that kvsplot verify finds as it was: a name is part of what it computes again: "+after[0])
	}
	return err
}

// differences returns what kvsplot verify finds in a folder.
func differences(dir string) (all []string, err error) {
	results, err := verify.Run(dir)
	for _, r := range results {
		all = append(all, r.Differences...)
	}
	return all, err
}

// newMask collects the names of a run, of this machine and of the checkout.
func (a *artifact) newMask() (*mask, error) {
	m := &mask{root: a.root, dirs: map[string]string{}, addresses: map[string]string{}}
	m.home, _ = os.UserHomeDir() // "" is no name
	hosts, users, err := a.machines()
	if err != nil {
		return nil, err
	}
	m.machines = numbered("node", a.telling(hosts))
	for name, word := range numbered("user", a.telling(users)) {
		m.machines[name] = cmp.Or(m.machines[name], word)
	}
	authors, err := a.authors()
	m.authors = numbered("author", authors)
	return m, err
}

// machines returns the names of the machines and nodes of the run and of this one, and of their
// users and teams.
func (a *artifact) machines() (hosts, users map[string]bool, err error) {
	hosts, users = map[string]bool{}, map[string]bool{}
	own, err := os.Hostname()
	hosts[own] = true
	if me, err := user.Current(); err == nil {
		users[me.Username], users[me.Name] = true, true
	}
	for _, word := range a.plan.Command {
		for _, at := range regexp.MustCompile(`([\w.-]+)@([\w.-]+)`).FindAllStringSubmatch(word, -1) {
			users[at[1]], hosts[at[2]] = true, true
		}
	}
	for _, r := range a.runs {
		for _, n := range r.Nodes {
			hosts[n.Name], hosts[n.Machine] = true, true
			if n.Config != nil {
				hosts[n.Config.Host.Hostname] = true
			}
			if n.Summary != nil && n.Summary.Claim != nil {
				users[n.Summary.Claim.Program] = true // the team's name
			}
		}
		if r.Preflight == nil {
			continue
		}
		for _, machine := range r.Preflight.Machines {
			for _, name := range machine.Nodes {
				hosts[name] = true
			}
			if f := machine.Facts; f != nil {
				hosts[f.Host.Hostname], users[f.User] = true, true
				for _, p := range f.Processes {
					users[p.User] = true
				}
			}
		}
	}
	return hosts, users, err
}

// ordinary matches the words of records, in their declarations: the names of fields, and values
// such as a role.
var ordinary = regexp.MustCompile(`json:"(\w+)|"([a-z_]+)"`)

// telling returns the names without numbers, and without those that are words of records, about
// which there is a note: a machine that is called server cannot be told from a role.
func (a *artifact) telling(names map[string]bool) map[string]bool {
	words := map[string]bool{}
	declared, _ := fs.Glob(metrics.Declarations, "*.go") // the pattern is right
	for _, file := range declared {
		text, _ := fs.ReadFile(metrics.Declarations, file) // it is in the program
		for _, match := range ordinary.FindAllStringSubmatch(string(text), -1) {
			words[match[1]], words[match[2]] = true, true
		}
	}
	maps.DeleteFunc(names, func(name string, _ bool) bool {
		if name != "" && words[name] {
			a.notes = append(a.notes, fmt.Sprintf("a replacement of the name %q, which is a word of the records, too", name))
		}
		return words[name] || strings.Trim(name, "0123456789") == ""
	})
	return names
}

// authors returns the names and the addresses of the authors of the checkout, and its remotes.
func (a *artifact) authors() (map[string]bool, error) {
	text, err := a.git("log", "--all", "--format=%an%n%ae%n%cn%n%ce")
	all := map[string]bool{}
	for line := range strings.Lines(string(text)) {
		if name := strings.TrimSpace(line); len(name) > shortest {
			all[name] = true
		} else if note := fmt.Sprintf("a replacement of the author's name %q, which is too short to be told from other words", name); name != "" && !slices.Contains(a.notes, note) {
			a.notes = append(a.notes, note)
		}
	}
	remotes, _ := a.git("remote", "-v") // none is no error
	for _, word := range strings.Fields(string(remotes)) {
		if strings.ContainsAny(word, "/:@") {
			all[word], all[strings.TrimSuffix(word, ".git")] = true, true
		}
	}
	return all, err
}

// shortest is the length up to which an author's name may be any word of a program.
const shortest = 3

// numbered gives each name a word with a number, in the order of the names, so that what is
// sorted by names stays so. The parts of a machine's name after its first dot name nothing else.
// Names that every machine has stay.
func numbered(word string, names map[string]bool) map[string]string {
	var first []string
	short := func(name string) string {
		if _, err := netip.ParseAddr(name); err == nil || word != "node" {
			return name
		}
		name, _, _ = strings.Cut(name, ".")
		return name
	}
	for _, name := range []string{"", "root", "localhost"} {
		delete(names, name)
	}
	for name := range names {
		first = append(first, short(name))
	}
	slices.Sort(first)
	first = slices.Compact(first)
	digits, all := len(fmt.Sprint(max(0, len(first)-1))), make(map[string]string)
	for name := range names {
		all[name] = fmt.Sprintf("%s%0*d", word, digits, slices.Index(first, short(name)))
		all[short(name)] = all[name]
	}
	return all
}

// each replaces the text and the name of every file in a folder of the artifact. A binary file of
// the data is left out, as it may have names that cannot be replaced. The source's modules stay.
func (a *artifact) each(dir string, hidden func(string) string) error {
	return filepath.WalkDir(a.path(dir), func(path string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && path == a.path(sourceFolder, "vendor"):
			return fs.SkipDir
		case !entry.Type().IsRegular():
			return nil
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		if bytes.IndexByte(text, 0) >= 0 {
			if dir == dataFolder {
				a.notes = append(a.notes, fmt.Sprintf("%q, which is no text, so that names in it cannot be replaced", filepath.Base(path)))
				return os.Remove(path)
			}
			return nil
		}
		info, err := entry.Info()
		if err != nil {
			return err
		}
		if now := hidden(string(text)); now != string(text) {
			err = os.WriteFile(path, []byte(now), info.Mode())
		}
		name := filepath.Base(path)
		return errors.Join(err, os.Rename(path, filepath.Join(filepath.Dir(path), hidden(name))))
	})
}

// signAgain writes the manifests of a folder and of those in it.
func signAgain(dir string) error {
	trials, _ := filepath.Glob(filepath.Join(dir, "*", metrics.ManifestFile))
	for _, file := range append(trials, filepath.Join(dir, metrics.ManifestFile)) {
		found, err := manifest.Of(filepath.Dir(file))
		if err != nil {
			return err
		}
		text, err := json.MarshalIndent(found, "", "  ")
		if err != nil {
			return err
		}
		if err := os.WriteFile(file, append(text, '\n'), 0o644); err != nil {
			return err
		}
	}
	return nil
}

var (
	paths = regexp.MustCompile(`/[\w.+@~-]+(/[\w.+@~-]+)+`)
	// system are the folders that all machines have.
	system = regexp.MustCompile(`^/(proc|sys|dev|usr|bin|sbin|lib|lib64|etc|boot|run|kvlab|dir\d+)/`)
	ip     = regexp.MustCompile(`[0-9]{1,3}(\.[0-9]{1,3}){3}|[0-9A-Fa-f]*:[0-9A-Fa-f:]*:[0-9A-Fa-f:]*[0-9A-Fa-f]`)
	mac    = regexp.MustCompile(`^([0-9A-Fa-f]{2}:){5}[0-9A-Fa-f]{2}$`)
)

// data returns a text of the data, or of a file about it, without names, addresses and paths.
func (m *mask) data(text string) string {
	text = within(paths, text, func(path string) string {
		if rest, ok := strings.CutPrefix(path, m.root+"/"); ok {
			return "/kvlab/" + rest
		}
		if system.MatchString(path) {
			return path
		}
		dir, name := filepath.Split(path)
		return next(m.dirs, dir, func(n int) string { return fmt.Sprintf("/dir%d/", n) }) + name
	})
	text = strings.ReplaceAll(text, m.root, "/kvlab")
	text = within(ip, text, func(address string) string {
		parsed, err := netip.ParseAddr(address)
		switch {
		case mac.MatchString(address):
			return next(m.addresses, address, func(n int) string { return fmt.Sprintf("02:00:00:00:%02x:%02x", n>>8, n&255) })
		case err != nil || parsed.IsLoopback() || parsed.IsUnspecified():
			return address
		case parsed.Is6():
			return next(m.addresses, address, func(n int) string { return fmt.Sprintf("fd00::%x", n) })
		}
		return next(m.addresses, address, func(n int) string { return fmt.Sprintf("10.0.%d.%d", n>>8, n&255) })
	})
	return named(m.source(text), m.machines)
}

// source returns a text of the source without the authors' names, and without where it comes
// from.
func (m *mask) source(text string) string { return named(text, m.authors) }

// next returns the replacement of a name: word of the next number if the name is new.
func next(known map[string]string, name string, word func(n int) string) string {
	if known[name] == "" {
		known[name] = word(len(known) + 1)
	}
	return known[name]
}

// named replaces names.
func named(text string, names map[string]string) string {
	var all []string
	for name := range names {
		all = append(all, regexp.QuoteMeta(name))
	}
	if len(all) == 0 {
		return text
	}
	slices.SortFunc(all, func(a, b string) int { return cmp.Or(len(b)-len(a), strings.Compare(a, b)) })
	return within(regexp.MustCompile(strings.Join(all, "|")), text, func(name string) string { return names[name] })
}

// within replaces the matches of a pattern that are no part of a longer word. One that base64
// may have, as it is a path or short, is a part of it also beside + and /, but in a URL.
func within(pattern *regexp.Regexp, text string, change func(string) string) string {
	word := func(i int, more string) bool {
		return i >= 0 && i < len(text) && (text[i] >= 'a' && text[i] <= 'z' || text[i] >= 'A' && text[i] <= 'Z' || text[i] >= '0' && text[i] <= '9' || strings.IndexByte(more, text[i]) >= 0)
	}
	var b strings.Builder
	last := 0
	for _, at := range pattern.FindAllStringIndex(text, -1) {
		match, more := text[at[0]:at[1]], "_"
		if (match[0] == '/' || len(match) <= shortest) && !strings.HasSuffix(text[:at[0]], "://") {
			more = "_+/"
		}
		if word(at[0]-1, more) || word(at[1], more) {
			continue
		}
		b.WriteString(text[last:at[0]])
		b.WriteString(change(match))
		last = at[1]
	}
	return b.String() + text[last:]
}

// checkHidden returns an error that names a file which still has a name: outside of the source
// also of a machine or a user. A name that is a replacement, too, is none.
func (a *artifact) checkHidden() error {
	if a.mask == nil {
		return nil
	}
	everywhere, data := left(a.mask.authors, a.mask.root, a.mask.home), left(a.mask.machines)
	return filepath.WalkDir(a.stage, func(path string, entry fs.DirEntry, err error) error {
		inside, _ := filepath.Rel(a.stage, path)
		switch {
		case err != nil:
			return err
		case entry.IsDir() && (inside == filepath.Join(sourceFolder, "vendor") || inside == drawnFolder || inside == filepath.Join(sourceFolder, "bin")):
			return fs.SkipDir
		case !entry.Type().IsRegular():
			return nil
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		text = append(text, "\n"+inside...)
		found := everywhere.Find(text)
		if found == nil && !strings.HasPrefix(inside, sourceFolder) {
			found = data.Find(text)
		}
		if found != nil {
			return fmt.Errorf("--anonymous: %s still has %q", inside, found)
		}
		return nil
	})
}

// left returns the pattern of the names that no file may have, as words.
func left(names map[string]string, more ...string) *regexp.Regexp {
	replacements := slices.Collect(maps.Values(names))
	var all []string
	for _, name := range slices.AppendSeq(more, maps.Keys(names)) {
		switch quoted := regexp.QuoteMeta(name); {
		case name == "" || name == "/root" || slices.Contains(replacements, name):
		case name[0] == '/':
			all = append(all, quoted)
		case len(name) > shortest:
			all = append(all, `\b`+quoted+`\b`)
		default: // base64 may have it
			all = append(all, `(^|[^\w+/])`+quoted+`($|[^\w+/])`)
		}
	}
	if len(all) == 0 {
		return regexp.MustCompile(`$^a`) // nothing
	}
	return regexp.MustCompile(strings.Join(all, "|"))
}
