package answer

import (
	"fmt"

	"kvlab/metrics"
	"kvlab/metrics/format"
)

// Differences says in what a replay's records differ from its trace's.
func Differences(s *metrics.Skew) (all []string) {
	if s == nil || s.Replay == nil {
		return nil
	}
	add := func(n uint64, layout string, args ...any) {
		if n > 0 {
			all = append(all, fmt.Sprintf("%s "+layout, append([]any{format.Count(float64(n))}, args...)...))
		}
	}
	r := s.Replay
	add(r.Expiring, "times to live ignored")
	add(r.Smaller, "values of fewer than %d bytes sent with %[2]d", r.Least)
	add(r.Larger, "values of more than %d bytes cut", r.Most)
	return all
}
