package take

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/http/pprof"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/google/pprof/profile"
)

// times returns the nanoseconds of each stack, from its leaf.
func times(p *profile.Profile) map[string]int64 {
	all := make(map[string]int64)
	for _, s := range p.Sample {
		var names []string
		for _, l := range s.Location {
			names = append(names, l.Line[0].Function.Name)
		}
		all[strings.Join(names, "<")] += s.Value[1]
	}
	return all
}

// A program's name, a symbol and a file may have spaces and parentheses. The last stack has no empty
// line behind it. A header alone, of a thread that was in no known code, is no sample.
func TestReadPerf(t *testing.T) {
	const text = "my store 17408   10101010 \n" +
		"\t           8514b main.hot (/tmp/my store (2))\n" +
		"\t           46f15 runtime.main (/tmp/my store (2))\n" +
		"\n" +
		"   store 17409    5000000 \n" +
		"\tffffffff81000000 do_syscall_64 ([kernel.kallsyms])\n" +
		"\t               0 [unknown] ([unknown])\n" +
		"\n" +
		"store 17410   10101010 \n" +
		"\n" +
		"store 17408   10101010 \n" +
		"\t           8516b kv::Map<int, int (*)(int)>::get(int) const (/usr/bin/store)\n" +
		"store 17408   10101010 \n" +
		"\t           8514b main.hot (/tmp/my store (2))\n" +
		"\t           46f15 runtime.main (/tmp/my store (2))"
	p, err := ReadPerf(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]int64{"main.hot<runtime.main": 20202020, "do_syscall_64<[unknown]": 5000000, "kv::Map<int, int (*)(int)>::get(int) const": 10101010}
	got := times(p)
	for stack, time := range want {
		if got[stack] != time {
			t.Errorf("%s: %d ns, want %d; all: %v", stack, got[stack], time, got)
		}
	}
	if len(got) != len(want) || len(p.Function) != 5 || p.Function[0].Filename != "/tmp/my store (2)" {
		t.Errorf("%v in %v", got, p.Function)
	}
}

func TestReadPerfErrors(t *testing.T) {
	for text, want := range map[string]string{
		"":                                     "no sample: the process used no processor time",
		"store 1 10101010 \n\tmain.hot\n":      "perf script:2: ",
		"store 1 10101010 \n\t8514b f (x)\nno": `perf script:3: "no": want `,
	} {
		if _, err := ReadPerf(strings.NewReader(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
}

// TestPerf profiles a program that runs one function.
func TestPerf(t *testing.T) {
	if _, err := exec.LookPath("perf"); err != nil {
		t.Skip("no perf: the package linux-perf has it")
	}
	if err := exec.Command("perf", "record", "-q", "-e", "cpu-clock", "-o", t.TempDir()+"/data", "--", "true").Run(); err != nil {
		t.Skip("perf does not record here: ", err)
	}
	program := t.TempDir() + "/burn"
	if out, err := exec.Command("go", "build", "-o", program, "./testdata/burn").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	burn := exec.Command(program)
	if err := burn.Start(); err != nil {
		t.Fatal(err)
	}
	text, err := Store(context.Background(), burn.Process.Pid, "", time.Second)
	_ = errors.Join(burn.Process.Kill(), burn.Wait()) // of a program that was killed
	if err != nil {
		t.Fatal(err)
	}
	p, err := profile.ParseData(text)
	if err != nil {
		t.Fatal(err)
	}
	burned, all := int64(0), int64(0)
	for stack, time := range times(p) {
		if all += time; strings.Contains(stack, "main.burn") {
			burned += time
		}
	}
	if burned < all/2 { // it is all that the program does
		t.Errorf("%d of %d ns in main.burn: %v", burned, all, times(p))
	}
}

// TestServer asks programs of Go, one of which has no profile.
func TestServer(t *testing.T) {
	var asked string
	for path, want := range map[string]string{"/debug/pprof/": "", "/": "answers 404 Not Found: 404 page not found", "/debug/": "unrecognized profile format"} {
		mux := http.NewServeMux()
		switch path {
		case "/debug/pprof/":
			mux.HandleFunc(path+"profile", func(w http.ResponseWriter, r *http.Request) {
				asked = r.URL.RawQuery
				pprof.Profile(w, r)
			})
		case "/debug/":
			mux.HandleFunc(path, func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "hello") })
		}
		server := httptest.NewServer(mux)
		text, err := Store(context.Background(), 0, server.Listener.Addr().String(), 0)
		server.Close()
		if want == "" && err == nil {
			_, err = profile.ParseData(text)
		}
		if want == "" && (err != nil || asked != "seconds=1") || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: %v, asked %q; want %q", path, err, asked, want)
		}
	}
}

// Without perf and without an address, the error says what to do.
func TestNoWay(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	if _, err := Store(context.Background(), os.Getpid(), "", time.Second); err == nil || err.Error() != How {
		t.Errorf("error %v", err)
	}
}
