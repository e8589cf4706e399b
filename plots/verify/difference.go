package verify

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
)

// difference is the first difference of two JSON values.
type difference struct {
	first  string   // with both figures; "" for none
	absent []string // names of fields that the recorded value lacks, as an earlier release wrote it
}

// sameDigits is how close two numbers are that differ by the order of a sum alone.
const sameDigits = 1e-9

// compare compares a recorded value with what the records give. path is the value's.
func (d *difference) compare(path string, recorded, again any) {
	if d.first != "" {
		return
	}
	switch a := recorded.(type) {
	case map[string]any:
		b, _ := again.(map[string]any)
		for _, name := range slices.Sorted(maps.Keys(a)) {
			if a[name] == nil && b[name] != nil {
				d.absent = append(d.absent, name) // a field that JSON has as null
				continue
			}
			d.compare(path+"."+name, a[name], b[name])
		}
		for name := range b {
			if _, known := a[name]; !known {
				d.absent = append(d.absent, name)
			}
		}
	case []any:
		b, _ := again.([]any)
		for i := range max(len(a), len(b)) {
			d.compare(fmt.Sprintf("%s[%d]", path, i), at(a, i), at(b, i))
		}
	case float64:
		if b, ok := again.(float64); !ok || math.Abs(a-b) > sameDigits*max(math.Abs(a), math.Abs(b)) {
			d.differ(path, recorded, again)
		}
	default:
		if recorded != again {
			d.differ(path, recorded, again)
		}
	}
}

func (d *difference) differ(path string, recorded, again any) {
	d.first = fmt.Sprintf("%s: run.json has %v, the records give %v", path[1:], textOf(recorded), textOf(again))
}

func at(values []any, i int) any {
	if i < len(values) {
		return values[i]
	}
	return nil
}

// textOf is a value as JSON; nothing for a field that is not there.
func textOf(value any) string {
	if value == nil {
		return "nothing"
	}
	text, _ := json.Marshal(value) // it was read from JSON
	return string(text)
}

// jsonOf is a value as JSON's reader gives it.
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
