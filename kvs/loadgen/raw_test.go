package loadgen

import (
	"context"
	"errors"
	"math"
	"strings"
	"testing"
	"time"

	"kvlab/kvs/service"
	"kvlab/kvs/wire"
)

// What a raw measurement says in operations and in bytes is one number of calls.
func TestMeasureRaw(t *testing.T) {
	c := rawConfig()
	id := wire.Options{Hello: wire.Hello{Node: "s", Codec: wire.RawCodec}}
	c.Hosts = []string{serve(t, service.New(nil), id), serve(t, service.New(nil), id)}
	f := Frames{Request: 1000, Reply: 99_000.4, Ops: 800}
	rate, err := MeasureRaw(context.Background(), c, f)
	if err != nil {
		t.Fatal(err)
	}
	calls := rate.OpsPerS / f.Ops * c.Window.Seconds()
	if calls < 1 || math.Abs(calls-math.Round(calls)) > 1e-6 {
		t.Errorf("%v calls", calls)
	}
	if got, want := rate.BytesPerS/rate.OpsPerS, (f.Request+f.Reply)/f.Ops; got/want > 1.0001 || got/want < 0.9999 {
		t.Errorf("%v bytes an operation, want %v", got, want)
	}
}

func TestMeasureRawErrors(t *testing.T) {
	c, f := rawConfig(), Frames{Request: 100, Reply: 100, Ops: 1}
	c.Hosts = []string{serve(t, service.New(nil), wire.Options{Hello: wire.Hello{Node: "s", Codec: "binary"}})}
	if _, err := MeasureRaw(context.Background(), c, f); !errors.Is(err, wire.ErrRefused) || !strings.Contains(err.Error(), "raw server 1 of 1") {
		t.Errorf("a server with calls: error %v", err)
	}
	c.Hosts = []string{serve(t, service.New(nil), wire.Options{Hello: wire.Hello{Node: "s", Codec: wire.RawCodec}})}
	c.Window = time.Hour
	ctx, cancel := context.WithCancelCause(context.Background())
	enough := errors.New("enough")
	time.AfterFunc(50*time.Millisecond, func() { cancel(enough) })
	if _, err := MeasureRaw(ctx, c, f); !errors.Is(err, enough) {
		t.Errorf("cancelled: error %v", err)
	}
}

func rawConfig() Config {
	c := DefaultConfig()
	c.Workers, c.WarmUp, c.Window = 3, 10*time.Millisecond, 100*time.Millisecond
	return c
}
