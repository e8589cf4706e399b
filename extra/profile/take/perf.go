package take

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/google/pprof/profile"
)

// perfFields are the fields of perf script(1) that ReadPerf reads.
const perfFields = "comm,pid,period,ip,sym,dso"

// ReadPerf makes a profile of what perf script writes of samples of the event cpu-clock, whose
// periods are nanoseconds: a line that ends in the period, and the stack from the leaf, a line a
// frame. Its errors name the line.
func ReadPerf(in io.Reader) (*profile.Profile, error) {
	made := newProfile()
	var stack []*profile.Location
	period := int64(0)
	lines := bufio.NewScanner(in)
	for n := 1; lines.Scan(); n++ {
		line := strings.TrimRight(lines.Text(), " ")
		var err error
		switch {
		case line == "":
			made.sample(stack, period)
			stack, period = nil, 0
		case line[0] == '\t' || line[0] == ' ' && period > 0:
			address, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
			_, err = strconv.ParseUint(address, 16, 64)
			name, object, isPath := strings.Cut(rest, " (/")
			if at := strings.LastIndex(rest, " ("); !isPath && at >= 0 { // as [kernel.kallsyms]
				name, object = rest[:at], rest[at+2:]
			} else if isPath {
				object = "/" + object
			}
			object = strings.TrimSuffix(object, ")")
			stack = append(stack, made.location(name, object))
		default:
			made.sample(stack, period) // of a stack without an empty line behind it
			stack = nil
			period, err = strconv.ParseInt(line[strings.LastIndex(line, " ")+1:], 10, 64)
		}
		if err != nil {
			return nil, fmt.Errorf("perf script:%d: %.100q: want the end of a sample's first line to be its period, and that of a frame an address, a symbol and (a file)", n, line)
		}
	}
	made.sample(stack, period)
	if err := lines.Err(); err != nil {
		return nil, fmt.Errorf("perf script: %w", err)
	}
	if len(made.Sample) == 0 {
		return nil, errors.New("no sample: the process used no processor time")
	}
	return made.Profile, made.CheckValid()
}

// builder makes a profile of names.
type builder struct {
	*profile.Profile
	known map[[2]string]*profile.Location // by function and object
}

func newProfile() builder {
	time := &profile.ValueType{Type: "cpu", Unit: "nanoseconds"}
	return builder{
		&profile.Profile{SampleType: []*profile.ValueType{{Type: "samples", Unit: "count"}, time}, PeriodType: time},
		make(map[[2]string]*profile.Location),
	}
}

// location returns the place of a function in an object file.
func (b builder) location(name, object string) *profile.Location {
	key := [2]string{name, object}
	if b.known[key] == nil {
		f := &profile.Function{ID: uint64(len(b.Function) + 1), Name: name, SystemName: name, Filename: object}
		l := &profile.Location{ID: f.ID, Line: []profile.Line{{Function: f}}}
		b.Function, b.Location, b.known[key] = append(b.Function, f), append(b.Location, l), l
	}
	return b.known[key]
}

// sample adds a sample, which stands for a time in nanoseconds; none without a stack.
func (b builder) sample(stack []*profile.Location, period int64) {
	if len(stack) > 0 {
		b.Sample = append(b.Sample, &profile.Sample{Location: stack, Value: []int64{1, period}})
		b.Period = max(b.Period, period)
	}
}
