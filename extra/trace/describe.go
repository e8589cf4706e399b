package trace

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"kvlab/metrics/format"
	"kvlab/workload/trace"
)

// describe returns what is in a trace, and a figure of its keys' popularity.
func describe(t *trace.Trace) string {
	var b strings.Builder
	line := func(name, layout string, args ...any) {
		fmt.Fprintf(&b, "  %-12s "+layout+"\n", append([]any{name}, args...)...)
	}
	fmt.Fprintf(&b, "%s: compiled from %s (version %d)\n", t.Path, t.Format, trace.Version)
	line("input", "SHA-256 %s", t.SHA256)
	line("commands", "%s", counts(t.Commands, 0))
	line("replayed", "%d operations: %s", t.Ops, counts(t.Kinds, t.Ops))
	if len(t.Skipped) > 0 {
		line("left out", "%s", counts(t.Skipped, 0))
	}
	if t.Filled > 0 {
		line("filled", "%d writes after reads that find nothing", t.Filled)
	}
	if t.Hits+t.Misses > 0 {
		line("reads", "%d found a value there, and %d none", t.Hits, t.Misses)
	}
	line("keys", "%d, %d of them are loaded; mean %.1f bytes", t.Keys, t.Loaded, float64(t.KeyBytes)/float64(t.Keys))
	if t.Texts > 0 {
		line("original", "the keys themselves are here, for -trace-keys original")
	}
	line("values", "%d bytes loaded, %d written, %d there at the end", t.LoadedBytes, t.ValueBytes, t.LiveBytes)
	for _, odd := range []struct {
		n    uint64
		what string
	}{
		{t.Smaller, fmt.Sprintf("values have fewer than %d bytes there, and %[1]d here", trace.LeastValue)},
		{t.Larger, fmt.Sprintf("values have more than %d bytes there, and %[1]d here", trace.MostValue)},
		{t.Expiring, "writes have a time to live there, and none here"},
		{t.Disordered, "operations are earlier than the one before them there, and as late here"},
	} {
		if odd.n > 0 {
			line("differences", "%d %s", odd.n, odd.what)
		}
	}
	if span := time.Duration(t.SpanNs()); span > 0 {
		line("span", "%v, %s operations per second", span, format.Count(float64(t.Ops)/span.Seconds()))
	} else {
		line("span", "no times")
	}
	popularity(&b, t)
	return b.String()
}

// counts lists counts by their names, with their shares of a number that is not 0.
func counts(of map[string]uint64, all uint64) string {
	var words []string
	for _, name := range slices.Sorted(maps.Keys(of)) {
		word := fmt.Sprintf("%d %s", of[name], name)
		if all > 0 {
			word += fmt.Sprintf(" (%.2f %%)", 100*float64(of[name])/float64(all))
		}
		words = append(words, word)
	}
	return strings.Join(words, ", ")
}

// barWidth is the width of a full bar, in characters.
const barWidth = 50

// popularity draws the shares of the operations on the most popular keys, and the exponent of
// the power law that fits their ranks, from 1, 2, 4, ... on, in logarithms by least squares.
func popularity(b *strings.Builder, t *trace.Trace) {
	ops := make([]uint32, t.Keys)
	for id := range t.Keys {
		ops[id], _, _ = t.Key(id)
	}
	slices.SortFunc(ops, func(x, y uint32) int { return int(int64(y) - int64(x)) })
	fmt.Fprintf(b, "  popularity   the share of the operations on the most popular keys\n")
	sum, at := uint64(0), 0
	var n, sx, sy, sxx, sxy float64
	bars := func(keys int) {
		for ; at < keys; at++ {
			sum += uint64(ops[at])
		}
		share := float64(sum) / float64(t.Ops)
		fmt.Fprintf(b, "  %12d %6.2f %% %s\n", keys, 100*share, strings.Repeat("#", int(math.Round(share*barWidth))))
	}
	for keys := 1; keys < len(ops); keys *= 10 {
		bars(keys)
	}
	bars(len(ops))
	for rank := 1; rank <= len(ops); rank *= 2 {
		x, y := math.Log(float64(rank)), math.Log(float64(ops[rank-1]))
		n, sx, sy, sxx, sxy = n+1, sx+x, sy+y, sxx+x*x, sxy+x*y
	}
	if n > 2 {
		fmt.Fprintf(b, "  %12s operations fall as rank^-%.2f\n", "", (sx*sy-n*sxy)/(n*sxx-sx*sx))
	}
}
