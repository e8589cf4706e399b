package slab

import (
	"fmt"
	"os"
	"runtime"
	"strconv"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"kvlab/kvs"
)

// BenchmarkLoad stores records of 128 bytes in a new engine. It reports the
// resident memory of the process for each byte of key and value, and the
// longest Apply of 256 Puts, in which every stop for growth shows: as the clock
// says, with every other process on the machine, and in the thread's own time
// on a processor, without them. With -short it stores a million records only.
func BenchmarkLoad(b *testing.B) {
	sizes := []int{1_000_000, 10_000_000}
	if testing.Short() {
		sizes = sizes[:1]
	}
	for _, records := range sizes {
		b.Run(fmt.Sprintf("records=%d", records), func(b *testing.B) {
			for b.Loop() {
				load(b, records)
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(records), "ns/record")
		})
	}
}

func load(b *testing.B, records int) {
	b.StopTimer()
	runtime.GC() // and with it what the engine before had
	before := resident(b)
	e, err := New(0)
	if err != nil {
		b.Fatal(err)
	}
	value, data := make([]byte, 128), 0
	keys := make([]byte, 0, window*20)
	ops := make([]kvs.Op, 0, window)
	var reply kvs.Reply
	var worst, worstOwn time.Duration
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	b.StartTimer()
	for id := 0; id < records; {
		keys, ops = keys[:0], ops[:0]
		for ; id < records && len(ops) < window; id++ {
			start := len(keys)
			keys = strconv.AppendInt(keys, int64(id), 10)
			ops = append(ops, kvs.Op{Kind: kvs.Put, Key: keys[start:], Value: value})
			data += len(keys) - start + len(value)
		}
		reply.Reset()
		start, own := time.Now(), threadTime(b)
		e.Apply(ops, &reply)
		worst, worstOwn = max(worst, time.Since(start)), max(worstOwn, threadTime(b)-own)
	}
	b.StopTimer()
	b.ReportMetric(float64(resident(b)-before)/float64(data), "B/B")
	b.ReportMetric(float64(worst.Microseconds()), "worst-us")
	b.ReportMetric(float64(worstOwn.Microseconds()), "worst-cpu-us")
	runtime.KeepAlive(e)
	b.StartTimer()
}

// threadTime returns how long this thread has been on a processor, the system's work
// for it included.
func threadTime(b *testing.B) time.Duration {
	b.Helper()
	var ts unix.Timespec // getrusage counts in ticks
	if err := unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &ts); err != nil {
		b.Fatal(err)
	}
	return time.Duration(ts.Nano())
}

// resident returns the process's resident memory in bytes, from
// https://man7.org/linux/man-pages/man5/proc_pid_statm.5.html.
func resident(b *testing.B) int {
	b.Helper()
	statm, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		b.Skip(err)
	}
	var size, pages int
	if _, err := fmt.Sscan(string(statm), &size, &pages); err != nil {
		b.Fatalf("read /proc/self/statm: %v", err)
	}
	return pages * os.Getpagesize()
}
