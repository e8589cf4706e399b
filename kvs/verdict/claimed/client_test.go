package claimed

import (
	"strings"
	"testing"

	"kvlab/metrics"
)

// A client against kvlab's servers that hides its claim is refuted if its file names the result,
// and has a caveat without. One that sends nothing is named with its log.
func TestHiddenClaim(t *testing.T) {
	for _, test := range []struct {
		claim         metrics.Claimed
		calls         uint64
		check, caveat string
		want          string
	}{
		{metrics.Claimed{Result: "done ([0-9]+)", Line: "bye"}, 10, "claim-lines", "", `result = "done ([0-9]+)": team-node1.log: the client ended after 0.0 s with exit status 0, and its last line is "bye"`},
		{metrics.Claimed{}, 10, "", "claim-lines", `no line is "throughput N", and the file has no result`},
		{metrics.Claimed{}, 0, "client-reached", "claim-lines", "team-node1.log: the client ended after 0.0 s with exit status 0, and it is empty"},
	} {
		run := honest()
		run.Nodes[0].Config.Capabilities = &metrics.Capabilities{}
		run.Nodes[0].Summary.Witness = &metrics.Witness{Calls: test.calls, Gets: 20 * test.calls, Connections: 1}
		run.Nodes[1].Summary.Claim = &test.claim
		for _, setting := range [][2]string{{"workload", "YCSB-C"}, {"theta", "0.99"}, {"records", "1000"}, {"seed", "1"}} {
			run.Nodes[1].Config.Flags[setting[0]] = setting[1]
		}
		v := Judge(run)
		caveat, evidence := "", v.Reason
		for _, c := range run.Checks {
			if c.Outcome == metrics.CheckDoubted && c.ID == "claim-lines" {
				caveat = c.ID
				if v.Check == "" || test.check == "" {
					evidence = c.Evidence
				}
			}
		}
		if test.check != "" && v.Check != test.check || test.check == "" && v.Check == "claim-lines" || caveat != test.caveat || !strings.Contains(evidence, test.want) {
			t.Errorf("%+v: %+v, caveat %q, %q; want %+v", test.claim, v, caveat, evidence, test)
		}
	}
}
