package client

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"kvlab/internal/cli"
	"kvlab/kvs/loadgen"
)

// These flag values have no type in package flag. Each prints in the form in which it
// is typed, because every flag's final value is logged.

// seconds is a number of seconds, or a duration such as 500ms.
type seconds time.Duration

func (s *seconds) Set(text string) error {
	if d, err := time.ParseDuration(text); err == nil {
		*s = seconds(d)
		return nil
	}
	n, err := strconv.ParseFloat(text, 64)
	if err != nil || math.IsNaN(n) || math.Abs(n) > 1e9 {
		return fmt.Errorf("want a number of seconds, such as 30")
	}
	*s = seconds(n * float64(time.Second))
	return nil
}

func (s *seconds) String() string {
	return strconv.FormatFloat(time.Duration(*s).Seconds(), 'g', -1, 64)
}

// every is N for one value in N, full for every value, or none.
type every int

func (e *every) Set(text string) error {
	if text == "full" {
		*e = 1
		return nil
	}
	if text == "none" {
		*e = loadgen.VerifyNone
		return nil
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 {
		return fmt.Errorf("want full, a whole number N for one value in N, or none")
	}
	*e = every(n)
	return nil
}

func (e *every) String() string {
	switch *e {
	case 1:
		return "full"
	case loadgen.VerifyNone:
		return "none"
	}
	return strconv.Itoa(int(*e))
}

// batch is a number of operations, or auto.
type batch loadgen.Config

func (b *batch) Set(text string) error {
	if text == "auto" {
		b.AutoBatch = true
		return nil
	}
	if err := cli.Count(&b.Batch).Set(text); err != nil {
		return fmt.Errorf("want a whole number of operations, such as 8192 or 8k, or auto")
	}
	b.AutoBatch = false
	return nil
}

func (b *batch) String() string {
	if b.AutoBatch {
		return "auto"
	}
	return strconv.Itoa(b.Batch)
}

// duration is a positive duration, or unset.
type duration time.Duration

func (l *duration) Set(text string) error {
	d, err := time.ParseDuration(text)
	if err != nil || d <= 0 {
		return fmt.Errorf("want a time above 0 with its unit, such as 1ms")
	}
	*l = duration(d)
	return nil
}

func (l *duration) String() string {
	if *l == 0 {
		return ""
	}
	return strings.Replace(time.Duration(*l).String(), "µ", "u", 1) // as it is typed
}
