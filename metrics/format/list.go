package format

import (
	"maps"
	"slices"
	"strings"
)

// Named lists how many there are of each name, such as "1 FLUSHALL, 3 INCR".
func Named(counts map[string]uint64) string {
	var texts []string
	for _, name := range slices.Sorted(maps.Keys(counts)) {
		texts = append(texts, Count(float64(counts[name]))+" "+name)
	}
	return strings.Join(texts, ", ")
}
