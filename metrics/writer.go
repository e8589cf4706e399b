package metrics

import (
	"encoding/json"
	"fmt"
	"io"
)

// Writer writes records, one JSON object a line. Not safe for concurrent use.
type Writer struct {
	w io.Writer
}

// NewWriter returns a Writer onto w. Each record is one call of w.Write, so
// that an abort leaves whole lines and at most one cut short.
func NewWriter(w io.Writer) *Writer { return &Writer{w: w} }

// Write writes one record. A record that does not say exactly one thing, and
// numbers that JSON has no form for (NaN), are errors; nothing is written then.
func (w *Writer) Write(r Record) error {
	if err := r.validate(); err != nil {
		return fmt.Errorf("write a record: %w", err)
	}
	line, err := json.Marshal(r)
	if err != nil {
		return fmt.Errorf("write a record of %s: %w", r.Node, err)
	}
	if _, err := w.w.Write(append(line, '\n')); err != nil {
		return fmt.Errorf("write a record of %s: %w", r.Node, err)
	}
	return nil
}

// validate checks what every reader relies on.
func (r Record) validate() error {
	set := 0
	for _, isSet := range []bool{r.Config != nil, r.Interval != nil, r.Usage != nil, r.Histogram != nil, r.Summary != nil, r.Violation != nil, r.Slice != nil} {
		if isSet {
			set++
		}
	}
	switch {
	case r.Node == "":
		return fmt.Errorf("record without a node name")
	case r.Role != Server && r.Role != Client:
		return fmt.Errorf("record of %s has role %q, want %q or %q", r.Node, r.Role, Server, Client)
	case set != 1:
		return fmt.Errorf("record of %s has %d of config, interval, usage, histogram and summary, want one", r.Node, set)
	}
	return nil
}
