package cli

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strings"

	"github.com/pelletier/go-toml/v2"
)

// DecodeTOML reads the text of a TOML file into a struct, whose fields have toml tags. It
// refuses keys that the struct does not have. Errors name file and line, and for an unknown
// key the nearest one.
func DecodeTOML(file string, text []byte, into any) error {
	err := toml.NewDecoder(bytes.NewReader(text)).DisallowUnknownFields().Decode(into)
	if err == nil {
		return nil
	}
	what := strings.TrimPrefix(err.Error(), "toml: ")
	if unknown := (*toml.StrictMissingError)(nil); errors.As(err, &unknown) {
		key := unknown.Errors[0].Key()
		name, known := key[len(key)-1], tomlKeys(reflect.TypeOf(into), "")
		hint := DidYouMean(name, "", slices.Sorted(maps.Keys(known)))
		if table := known[name]; table != "" {
			hint = fmt.Sprintf("; did you mean %s.%s?", table, name)
		}
		err, what = &unknown.Errors[0], fmt.Sprintf("unknown key %s%s", strings.Join(key, "."), hint)
	}
	if decode := (*toml.DecodeError)(nil); errors.As(err, &decode) {
		line, _ := decode.Position()
		if key := strings.Join(decode.Key(), "."); key != "" && !strings.Contains(what, key) {
			what = key + ": " + what
		}
		return fmt.Errorf("%s:%d: %s", file, line, what)
	}
	return fmt.Errorf("%s: %s", file, what)
}

// TOMLLine returns ":LINE" of the i-th table of a name in the text of a TOML file, for an error
// about it. The table may be inline; "" if there is none.
func TOMLLine(text []byte, table string, i int) string {
	heads := regexp.MustCompile(`(?m)^\s*\[\[?`+regexp.QuoteMeta(table)+`\]`).FindAllIndex(text, -1)
	if len(heads) == 0 { // inline, as in point = [{...}, {...}]
		at := max(0, bytes.Index(text, []byte(table+" = ")))
		for _, head := range regexp.MustCompile(`\{`).FindAllIndex(text[at:], -1) {
			heads = append(heads, []int{at + head[0], at + head[1]})
		}
	}
	if table == "" || i >= len(heads) {
		return ""
	}
	return fmt.Sprintf(":%d", 1+bytes.Count(bytes.TrimRight(text[:heads[i][1]], "\n"), []byte("\n")))
}

// Mistake returns an error about the text of a TOML file with the file, and with the line of the
// keys that the error begins with, as in "client: run: want ..."; else that of their table.
func Mistake(file string, text []byte, err error) error {
	table, at := "", ""
	words := strings.SplitN(err.Error(), ": ", 3)
	key, _, _ := strings.Cut(words[0], ".")
	if has := regexp.MustCompile(`(?m)^\s*(\[)?` + regexp.QuoteMeta(key) + `[\]\s.=]`).FindSubmatch(text); len(words) == 3 && (has == nil || len(has[1]) > 0) {
		if has != nil {
			table = key
		}
		key, _, _ = strings.Cut(words[1], ".")
	}
	in := ""
	for i, line := range strings.Split(string(text), "\n") {
		line = strings.TrimSpace(line)
		name, _, _ := strings.Cut(line, "=")
		if head, ok := strings.CutPrefix(line, "["); ok {
			if in, _, _ = strings.Cut(head, "]"); in == table {
				at = fmt.Sprintf(":%d", i+1)
			}
		}
		if full := strings.Trim(table+"."+key, "."); in == full || in == table && strings.TrimSpace(name) == key {
			return fmt.Errorf("%s:%d: %w", file, i+1, err)
		}
	}
	return fmt.Errorf("%s%s: %w", file, at, err)
}

// tomlKeys returns the keys of a type, which is that of a table, and of the structs in it,
// each with its table.
func tomlKeys(t reflect.Type, table string) map[string]string {
	keys := make(map[string]string)
	for t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice {
		t = t.Elem()
	}
	if t.Kind() != reflect.Struct {
		return keys
	}
	for i := range t.NumField() {
		key := t.Field(i).Tag.Get("toml")
		if key == "-" {
			continue
		}
		if maps.Copy(keys, tomlKeys(t.Field(i).Type, cmp.Or(key, table))); key != "" {
			keys[key] = table
		}
	}
	return keys
}
