package profile

import (
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"
	"time"
)

func TestSet(t *testing.T) {
	const s = time.Second
	for text, want := range map[string]Rate{
		"1": {OpsPerS: 1}, "200k": {OpsPerS: 200_000}, "1.5M": {OpsPerS: 1.5e6}, "1e5": {OpsPerS: 1e5}, "0.5": {OpsPerS: 0.5},
		"70%": {Share: 0.7}, "110%": {Share: 1.1}, "0.5%": {Share: 0.005}, "50x": {Speed: 50},
		"100k@10s,500k@500ms,100k@1m": {OpsPerS: 100e3 + 400e3*0.5/70.5, Stages: []Stage{{From: 100e3, To: 100e3, Length: 10 * s}, {From: 500e3, To: 500e3, Length: s / 2}, {From: 100e3, To: 100e3, Length: 60 * s}}},
		"1k@30":                       {OpsPerS: 1000, Stages: []Stage{{From: 1000, To: 1000, Length: 30 * s}}},
		"50k..400k":                   {OpsPerS: 225e3, Stages: []Stage{{From: 50e3, To: 400e3}}},
		"50%..100%@1s,0@1s":           {},
		"60%..100%@1s,0%@1s":          {Share: 0.4, Stages: []Stage{{From: 0.6, To: 1, Length: s}, {Length: s}}},
		"300k~200k/60s@2m":            {OpsPerS: 300e3, Stages: []Stage{{From: 300e3, To: 300e3, Swing: 200e3, Period: 60 * s, Length: 120 * s}}},
		"2~1/4@1s":                    {OpsPerS: 2 + 2/math.Pi, Stages: []Stage{{From: 2, To: 2, Swing: 1, Period: 4 * s, Length: s}}},
	} {
		var got, again Rate
		err := got.Set(text)
		if want.Open() == (err != nil) || err == nil && (math.Abs(got.OpsPerS-want.OpsPerS) > 1e-9*want.OpsPerS || got.Share != want.Share || got.Speed != want.Speed || !reflect.DeepEqual(got.Stages, want.Stages)) {
			t.Errorf("%s: %+v, %v; want %+v", text, got, err, want)
		}
		if err != nil {
			continue
		}
		if err := again.Set(got.String()); err != nil || !reflect.DeepEqual(again, got) {
			t.Errorf("%s prints as %s, which is %+v, %v", text, got, again, err)
		}
	}
	for text, want := range map[string]string{
		"": want, "0": want, "-1": want, "k": want, "%": want, "1 k": want, "Inf": want, "NaN": want, "1e999": want, "7k%": want, "-5%": want, "0%": want,
		"x": "such as 50x", "-1x": "such as 50x",
		"100k@10s,5k": `stage 2, "5k": want its time, as in 5k@10s`, "100k@10s,": `stage 2, "": ` + wantStage, "1k,2k@1s": `stage 1, "1k": want its time`,
		"1k@10s,1z@1s": `stage 2, "1z@1s": ` + wantStage, "1k@0s": `stage 1, "1k@0s": ` + wantStage, "1k@-1s": wantStage, "1k@": wantStage, "@1s": wantStage,
		"1k..@1s": wantStage, "1k..2k..3k@1s": wantStage, "1k~2k/1s@1s": wantStage, "1k~1k@1s": wantStage, "1k~500/0s@1s": wantStage, "1k~50%/1s@1s": wantStage, "1k..50%@1s": wantStage,
		"1k@1s,50%@1s": `stage 2, "50%@1s": want all levels in per cent`, "0@1s,1k@1s": `stage 1, "0@1s": want a first level above 0`, "0..1k@1s": "want a first level above 0",
		"5x@1s":                              `stage 1, "5x@1s": ` + wantStage,
		strings.Repeat("1@1s,", 64) + "1@1s": "65 stages: want at most 64",
	} {
		var got Rate
		if err := got.Set(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %+v, %v; want %q", text, got, err, want)
		}
	}
}

// Stages decide on the window, a typed one fits them, and a single level takes it.
func TestFit(t *testing.T) {
	for _, test := range []struct {
		text   string
		typed  bool
		window time.Duration
		want   string // the rate and the window, or the error
	}{
		{"100k", true, 30 * time.Second, "100000 30s"},
		{"100k@10s,0@500ms", false, 30 * time.Second, "100k@10s,0@500ms 10.5s"},
		{"100k@10s,0@500ms", true, 10500 * time.Millisecond, "100k@10s,0@500ms 10.5s"},
		{"100k@10s", true, 30 * time.Second, "-rate 100k@10s: its stages last 10s together, -secs is 30s: want the same, or -secs left out"},
		{"1k..2k", true, 30 * time.Second, "1k..2k@30s 30s"},
		{"2%~1%/1m", false, 30 * time.Second, "2%~1%/1m@30s 30s"},
	} {
		var r Rate
		if err := r.Set(test.text); err != nil {
			t.Fatal(err)
		}
		window, err := r.Fit(test.window, test.typed)
		got := fmt.Sprint(r, " ", window)
		if err != nil {
			got = err.Error()
		}
		if got != test.want {
			t.Errorf("%s: %s, want %s", test.text, got, test.want)
		}
		if test.text == "2%~1%/1m" && math.Abs(r.Share-(0.02+0.01*2/math.Pi)) > 1e-12 {
			t.Errorf("half a period of %s has a mean of %v", r, r.Share)
		}
	}
}

// random returns a rate of up to 5 stages of each form, with levels from 0 and lengths from a
// millisecond.
func random(random *rand.Rand) (r Rate) {
	for range 1 + random.IntN(5) {
		s := Stage{From: math.Pow(10, 6*random.Float64()), Length: time.Duration(math.Pow(10, 6+4*random.Float64()))}
		s.To = s.From
		switch random.IntN(4) {
		case 0:
			s.To = s.From * 3 * random.Float64() * float64(random.IntN(2))
		case 1:
			s.Swing, s.Period = s.From*min(1, 1.5*random.Float64()), time.Duration(float64(s.Length)*(0.1+2*random.Float64()))
		case 2:
			if r.Stages != nil {
				s.From, s.To = 0, 0
			}
		}
		r.Stages = append(r.Stages, s)
	}
	r.OpsPerS = mean(r.Stages)
	return r
}

// The sum is the integral of the levels, by Simpson's rule, and At its inverse to the nanosecond;
// the mean of the course is as asked for.
func TestCourse(t *testing.T) {
	const seed = 1
	t.Logf("seed %d", seed)
	numbers := rand.New(rand.NewPCG(seed, 0))
	for range 300 {
		r := random(numbers)
		asked := 2 * r.OpsPerS
		c := r.Course(asked)
		length, whole := time.Duration(0), 0.0
		for i, s := range c.stages[:len(r.Stages)] {
			const steps = 2000
			h := s.Length.Seconds() / steps
			simpson := s.at(0) + s.at(h*steps)
			for k := 1; k < steps; k++ {
				simpson += s.at(float64(k)*h) * float64(2+2*(k%2))
			}
			simpson *= h / 3
			whole += simpson
			if length += s.Length; math.Abs(c.Sum(length)-whole) > 1e-6*whole {
				t.Fatalf("%s: %v operations up to the end of stage %d, want %v", r, c.Sum(length), i+1, whole)
			}
		}
		if got := c.Sum(length) / length.Seconds(); math.Abs(got-asked) > 1e-9*asked {
			t.Fatalf("%s: a mean of %v, want %v", r, got, asked)
		}
		last := time.Duration(0)
		for k := range 200 {
			n := whole * 1.2 * float64(k) / 200
			at := c.At(n)
			if at < last {
				t.Fatalf("%s: operation %v is due at %v, an earlier one at %v", r, n, at, last)
			}
			last = at
			if at == Never && n > whole*(1-1e-9) && c.stages[len(c.stages)-1].From < 1e-6 {
				continue
			}
			if before, after := c.Sum(at-2), c.Sum(at+2); n < before*(1-1e-12)-1e-9 || n > after*(1+1e-12)+1e-9 {
				t.Fatalf("%s: operation %v is due at %v, where the sum is %v to %v", r, n, at, before, after)
			}
		}
	}
	if c := (Rate{OpsPerS: 5}).Course(10); !c.Constant() || c.First() != 10 || c.At(20) != 2*time.Second || c.Sum(-time.Second) != -10 {
		t.Errorf("%+v", c)
	}
}
