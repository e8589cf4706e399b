package disk

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"kvlab/kvs/engine"
	"kvlab/metrics"
)

// A whole run in which a server is killed and started again on its store is VALID: no
// acknowledged write is lost, and none is invented. KVLAB_CI=1 makes one such run, and
// KVLAB_LONG=1 makes 5 of each engine and mode.
func TestRestart(t *testing.T) {
	times := 5
	switch {
	case os.Getenv("KVLAB_LONG") != "":
	case os.Getenv("KVLAB_CI") == "1":
		times = 1
	default:
		t.Skip("KVLAB_CI=1 runs it")
	}
	for _, row := range []engine.Row{Pebble, Badger} {
		for _, sync := range []engine.Sync{engine.SyncOS, engine.SyncDisk} {
			for i := range times {
				t.Run(fmt.Sprintf("%s/%s/%d", row.Name, string(sync), i), func(t *testing.T) { restarted(t, row.Name, sync, i) })
			}
			if times == 1 {
				return
			}
		}
	}
}

// restarted makes a run of two servers, of which the first is killed. With 64 workers it then
// has calls to answer: with few, all replies may wait for a client that waits for a processor.
func restarted(t *testing.T, name string, sync engine.Sync, i int) {
	stores, out := t.TempDir(), t.TempDir()
	start(t, t.TempDir(), name, sync).kill(t) // skips the test if the folder is in memory, and -sync disk wants another
	text := launch(t, fmt.Sprintf("./run-cluster.sh --local 2 1 --engine %s --sync %s --dir %s --retry --restart-at %dms --workload %s --linearizable"+
		" --records 10000 --workers 64 --batch 32 --warmup 1 --secs 8 --client-args '-seed %d' --no-ceiling --out %s",
		name, string(sync), stores, 3000+333*i, []string{"YCSB-A", "YCSB-F"}[i%2], i+1, out))
	var run metrics.Run
	file, err := os.ReadFile(filepath.Join(out, "latest", "run.json"))
	if err == nil {
		err = json.Unmarshal(file, &run)
	}
	if err != nil {
		t.Fatal(err)
	}
	r := run.Restart
	if !run.Verdict.Valid || run.Counting != metrics.CountsBounded || r == nil || r.FirstReplyS == nil || r.UnknownOps == 0 || run.Audit == nil || run.Audit.Written == 0 {
		t.Fatalf("verdict %s, counts %s, restart %+v, audit %+v\n%s", run.Verdict, run.Counting, r, run.Audit, text)
	}
	if at := 3 + 0.333*float64(i); r.Server != "node0" || r.AtS < at-1 || r.AtS > at+4 || r.ReadyS <= 0 || *r.FirstReplyS <= 0 {
		t.Errorf("%s", r)
	}
	log, err := os.ReadFile(filepath.Join(out, "latest", "kvsserver-node0.log"))
	if err != nil || strings.Count(string(log), "Starting KVS server on") != 2 || !strings.Contains(string(log), "was killed") || !strings.Contains(text, "restart") {
		t.Errorf("%v: the log has not two processes:\n%s\n%s", err, log, text)
	}
	t.Log(r)
}
