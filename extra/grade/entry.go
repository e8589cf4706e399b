package grade

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"kvlab/internal/cli"
	"kvlab/kvs/target"
	"kvlab/metrics"
	"kvlab/metrics/format"
)

// Entry is a store of a class, or a pattern of the folders of several.
type Entry struct {
	Name     string   `toml:"name"`     // without the key, one that is made from its source's
	Checkout string   `toml:"checkout"` // a folder with kvlab's source
	Revision string   `toml:"revision"` // a git revision of this checkout
	Target   string   `toml:"target"`   // a target file
	Pattern  string   `toml:"pattern"`  // of folders, each an entry: a checkout, one with a store.toml, or one for [target]
	Args     string   `toml:"args"`     // launcher flags of this entry alone
	Students []string `toml:"students"` // as a gradebook identifies them

	where  string // path:LINE of the table
	broken string // why it cannot be built
	aimed  string // the file's [target] at its folder, in the inline form; "" without one
	source string // the SHA-256 of what is in its folder; "" of a revision
}

// The files that say what a submitted folder is.
const (
	moduleFile = "go.mod"
	storeFile  = "store.toml"
)

// nameForm is the form of a name: safe as a folder, in a table, a spreadsheet and a shell.
var nameForm = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._+-]{0,39}$`)

const nameWords = "want at most 40 letters, digits and . _ + - for a name, the first a letter or a digit"

// unsafe are the characters that a name made from a folder's does not have.
var unsafe = regexp.MustCompile(`[^A-Za-z0-9._+-]+`)

// nameOf makes a name from that of a folder, a file or a revision: other characters are
// replaced by a dash.
func nameOf(text string) (string, error) {
	name := strings.Trim(unsafe.ReplaceAllString(text, "-"), "-._+")
	name = strings.TrimRight(name[:min(len(name), 40)], "-._+")
	if name == "" {
		return "", fmt.Errorf("%q has no letter or digit for a name: give it one, in an [[entry]] of its own with name and checkout or target", text)
	}
	return name, nil
}

// settle replaces patterns by what they match, names all entries, and checks them.
func (f *File) settle() error {
	if err := f.complete(&f.Reference, true); err != nil {
		return fmt.Errorf("%s: %w", f.Reference.where, err)
	}
	given, names := f.given(), map[string]string{strings.ToLower(f.Reference.Name): "the reference"}
	var all []Entry
	var wrong error
	for _, e := range f.Entries {
		found, err := []Entry{e}, error(nil)
		if e.Pattern != "" {
			found, err = f.match(e, given)
		}
		for i := range found {
			unfit := f.complete(&found[i], false)
			if unfit == nil {
				key := strings.ToLower(found[i].Name) // some file systems do not tell the cases apart
				if other := names[key]; other != "" {
					unfit = fmt.Errorf("the name %s is that of %s too: give one of them another name", found[i].Name, other)
				}
				names[key] = cmp.Or(found[i].from(), found[i].Name)
			}
			if unfit != nil {
				wrong = errors.Join(wrong, fmt.Errorf("%s: %w", e.where, unfit))
			}
		}
		if err != nil { // it has found nothing
			wrong = errors.Join(wrong, fmt.Errorf("%s: %w", e.where, err))
		}
		all = append(all, found...)
	}
	f.Entries = all
	return wrong
}

// given returns the folders of all entries that are no pattern.
func (f *File) given() (folders []string) {
	for _, e := range append([]Entry{f.Reference}, f.Entries...) {
		switch {
		case e.Checkout != "":
			folders = append(folders, f.path(e.Checkout))
		case e.Target != "":
			folders = append(folders, filepath.Dir(f.path(e.Target)))
		}
	}
	return folders
}

// match returns the entries of a pattern, without those of the folders that another entry
// names.
func (f *File) match(e Entry, given []string) (found []Entry, err error) {
	if e.Name != "" || len(e.Students) > 0 || e.Checkout+e.Revision+e.Target != "" {
		return nil, errors.New("pattern: its entries have the names of their folders: want no name, students, checkout, revision or target beside it")
	}
	pattern, dir := e.Pattern, filepath.Dir(f.Path)
	if !filepath.IsAbs(pattern) {
		pattern = filepath.Join(escapeGlob.Replace(dir), pattern)
	}
	folders, err := filepath.Glob(strings.TrimRight(pattern, "/"))
	if err != nil {
		return nil, fmt.Errorf("pattern %q: %w", e.Pattern, err)
	}
	for _, path := range folders {
		name := path // as the file would name it
		if !filepath.IsAbs(e.Pattern) {
			name, _ = filepath.Rel(dir, path) // both are absolute
		}
		info, err := os.Lstat(path)
		switch {
		case err != nil:
			return nil, err
		case slices.Contains(given, path):
		case info.IsDir():
			found = append(found, f.submitted(path, name, e))
		case info.Mode()&fs.ModeSymlink != 0:
			found = append(found, Entry{Checkout: name, where: e.where, broken: "it is a symbolic link, and no folder"})
		case packed.MatchString(path):
			found = append(found, Entry{Checkout: name, where: e.where, broken: "it is a packed file, and no folder: unpack it"})
		}
	}
	if len(found) == 0 {
		return nil, fmt.Errorf("pattern %q: no folder matches", e.Pattern)
	}
	return found, nil
}

// escapeGlob makes a path a pattern of itself.
var escapeGlob = strings.NewReplacer(`\`, `\\`, "*", `\*`, "?", `\?`, "[", `\[`)

// packed matches the names of files that students hand in in place of a folder.
var packed = regexp.MustCompile(`(?i)\.(zip|tar|tgz|gz|bz2|xz|zst|7z|rar)$`)

// submitted returns the entry of a folder that a pattern has matched. What students submit may
// be anything: it is no mistake of the class file.
func (f *File) submitted(folder, path string, e Entry) Entry {
	e.Pattern, e.Checkout = "", path
	if f.Target == nil && !ofKVLab(folder) {
		if _, err := os.Lstat(filepath.Join(folder, storeFile)); err == nil {
			e.Checkout, e.Target = "", filepath.Join(path, storeFile)
		}
	}
	return e
}

// ofKVLab reports whether a folder has a go.mod of kvlab, which is no link.
func ofKVLab(folder string) bool {
	file := filepath.Join(folder, moduleFile)
	return isRegular(file) && module.Match(head(file))
}

// module is the line of kvlab's go.mod.
var module = regexp.MustCompile(`(?m)^module\s+"?kvlab"?\s*$`)

// complete checks an entry that is no pattern, and names it.
func (f *File) complete(e *Entry, reference bool) error {
	switch sources := format.NonEmpty(e.Checkout, e.Revision, e.Target); {
	case e.Pattern != "":
		return errors.New("pattern: the reference is one entry")
	case len(sources) > 1:
		return fmt.Errorf("%q: want one of checkout, revision, target and pattern", sources)
	case len(sources) == 0 && e.Args == "" && !reference:
		return errors.New("want one of checkout, revision, target and pattern; or args alone, for flags of this checkout's programs")
	case strings.HasPrefix(e.Revision, "-"):
		return fmt.Errorf("%q: want a git revision", e.Revision)
	}
	if words, err := cli.SplitWords(e.Args); err != nil || len(words) > 0 && !strings.HasPrefix(words[0], "-") {
		return cmp.Or(err, fmt.Errorf("args %q: want flags alone, as in --engine slab: [work] says how many servers and clients run", e.Args))
	}
	if err := f.name(e, reference); err != nil {
		return err
	}
	return f.look(e, reference)
}

// name checks an entry's name, or makes one.
func (f *File) name(e *Entry, reference bool) (err error) {
	text := e.Revision
	switch {
	case e.Name != "":
		if !nameForm.MatchString(e.Name) {
			err = fmt.Errorf("name %q: %s", e.Name, nameWords)
		}
		return err
	case reference:
		text = "reference"
	case e.Checkout != "":
		text = filepath.Base(f.path(e.Checkout))
	case filepath.Base(e.Target) == storeFile:
		text = filepath.Base(filepath.Dir(f.path(e.Target)))
	case e.Target != "":
		text = strings.TrimSuffix(filepath.Base(e.Target), ".toml")
	case e.Revision == "":
		return errors.New("want a name")
	}
	e.Name, err = nameOf(text)
	return err
}

// look finds out whether an entry's files are there. A folder that is no checkout is what a
// student has submitted; one that does not exist is a mistake.
func (f *File) look(e *Entry, reference bool) error {
	path := f.path(e.from())
	switch {
	case e.broken != "" || e.from() == "" || e.Revision != "":
		return nil
	case e.Target != "":
		switch info, err := os.Lstat(path); {
		case filepath.Ext(path) != ".toml":
			return fmt.Errorf("target %q: want a file that ends in .toml", e.Target)
		case err != nil:
			return fmt.Errorf("target %q: no such file", e.Target)
		case !info.Mode().IsRegular():
			e.broken = filepath.Base(path) + " is no regular file"
			return nil
		}
	default:
		if info, err := os.Stat(path); err != nil || !info.IsDir() {
			return fmt.Errorf("checkout %q: no such folder", e.Checkout)
		}
	}
	e.broken = f.refuse(e, path, reference)
	folder := path
	if e.Target != "" {
		folder = filepath.Dir(path)
	}
	var err error
	if e.source, err = sum(folder); err != nil && e.broken == "" {
		e.broken = err.Error()
	}
	return nil
}

// refuse says what keeps an entry from being built; "" if nothing does. The reference is the
// instructor's own.
func (f *File) refuse(e *Entry, path string, reference bool) string {
	var err error
	switch {
	case e.Target != "" && !reference:
		err = target.CheckSubmitted(filepath.Base(path), head(path), filepath.Dir(path), f.Drivers)
	case e.Target != "":
	case f.Target != nil:
		var at target.Target
		if at, err = f.Target.In(path); err == nil {
			e.aimed = at.String()
		}
	case !ofKVLab(path):
		err = errors.New("the folder has no go.mod of kvlab, as a checkout has, and no store.toml; a table [target] in the class file says how other folders are built")
	}
	if err != nil {
		return err.Error()
	}
	return ""
}

// head returns the beginning of a file.
func head(path string) []byte {
	file, err := os.Open(path)
	if err != nil {
		return nil
	}
	defer file.Close()
	text, _ := io.ReadAll(io.LimitReader(file, 1<<16))
	return text
}

// isRegular reports whether a path is a file, and no link.
func isRegular(path string) bool {
	info, err := os.Lstat(path)
	return err == nil && info.Mode().IsRegular()
}

func (e Entry) kind() metrics.EntryKind {
	switch {
	case e.Revision != "":
		return metrics.RevisionEntry
	case e.Target != "" || e.aimed != "":
		return metrics.TargetEntry
	}
	return metrics.CheckoutEntry
}

// from returns the entry's source, as the file names it; "" of the launcher's own checkout.
func (e Entry) from() string { return cmp.Or(e.Checkout, e.Revision, e.Target) }
