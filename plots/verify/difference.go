package verify

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"regexp"
	"slices"
)

// sameDigits is the largest relative difference that another order of a sum makes.
const sameDigits = 1e-9

// differences compares a recorded value with the value that the records give, field by
// field. It returns a line for each field that differs, which begins with a prefix.
func differences(prefix string, recorded, again any) []string {
	d := difference{prefix: prefix}
	d.compare("", jsonOf(recorded), jsonOf(again))
	return d.lines
}

// difference collects the differences of two JSON values.
type difference struct {
	prefix  string
	figures bool // compare only the figures of sentences
	lines   []string
}

var (
	sentence = regexp.MustCompile(`\.(evidence|why|sentence|reason)$`) // the fields that hold one
	number   = regexp.MustCompile(`[0-9]+(\.[0-9]+)?`)
)

// sameFigures reports whether two sentences have the same figures.
func sameFigures(recorded, again any) bool {
	a, isText := recorded.(string)
	b, _ := again.(string)
	return isText && slices.Equal(number.FindAllString(a, -1), number.FindAllString(b, -1))
}

// compare compares the values of a path.
func (d *difference) compare(path string, recorded, again any) {
	if d.figures && sentence.MatchString(path) && sameFigures(recorded, again) {
		return
	}
	if d.figures && recorded == nil && path == ".bottleneck.why" { // earlier commits did not record it
		return
	}
	switch a := recorded.(type) {
	case map[string]any:
		b, ok := again.(map[string]any)
		if !ok {
			d.differ(path, recorded, again)
			return
		}
		names := make(map[string]bool)
		for name := range a {
			names[name] = true
		}
		for name := range b {
			names[name] = true
		}
		for _, name := range slices.Sorted(maps.Keys(names)) {
			d.compare(path+"."+name, a[name], b[name])
		}
	case []any:
		b, ok := again.([]any)
		if !ok {
			d.differ(path, recorded, again)
			return
		}
		for i := range max(len(a), len(b)) {
			d.compare(fmt.Sprintf("%s[%d]", path, i), at(a, i), at(b, i))
		}
	case float64:
		if b, ok := again.(float64); !ok || math.Abs(a-b) > sameDigits*max(math.Abs(a), math.Abs(b)) {
			d.differ(path, recorded, again)
		}
	case nil:
		if !isEmpty(again) {
			d.differ(path, recorded, again)
		}
	default:
		if recorded != again {
			d.differ(path, recorded, again)
		}
	}
}

// isEmpty reports whether a value says as much as none.
func isEmpty(value any) bool {
	switch v := value.(type) {
	case map[string]any:
		return len(v) == 0
	case []any:
		return len(v) == 0
	}
	return value == nil
}

func (d *difference) differ(path string, recorded, again any) {
	if path != "" && path[0] == '.' {
		path = path[1:]
	}
	d.lines = append(d.lines, fmt.Sprintf("%s: %s: recorded is %s, the records give %s", d.prefix, path, textOf(recorded), textOf(again)))
}

func at(values []any, i int) any {
	if i < len(values) {
		return values[i]
	}
	return nil
}

// mostText is the length in bytes of the longest value that is shown whole.
const mostText = 200

// textOf returns a value as JSON; nothing for a field that is not there.
func textOf(value any) string {
	if value == nil {
		return "nothing"
	}
	text, _ := json.Marshal(value) // it was read from JSON
	if len(text) > mostText {
		text = append(text[:mostText:mostText], "..."...)
	}
	return string(text)
}

// jsonOf returns a value as JSON's reader gives it.
func jsonOf(value any) (out any) {
	text, err := json.Marshal(value)
	if err == nil {
		err = json.Unmarshal(text, &out)
	}
	if err != nil {
		return fmt.Sprint(err) // a number that JSON cannot hold is a difference
	}
	return out
}
