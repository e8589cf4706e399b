package cluster

import (
	"context"
	"testing"

	"kvlab/kvs/cluster/nodes"
	"kvlab/kvs/cluster/plan"
	"kvlab/kvs/cluster/trial"
)

// scontrol is a program that answers as Slurm does.
const scontrol = "testdata/scontrol"

// What the job's end adds to the run's.
func TestSlurmExplain(t *testing.T) {
	onSlurm := plan.Plan{Places: []plan.Place{{Node: nodes.Node{Way: nodes.Way{Kind: nodes.Srun}}}}}
	broken := &plan.Fault{Node: "node1", Reason: "died of signal 15 (terminated)"}
	tests := []struct {
		job    string
		err    error
		want   string // verdict
		status int
	}{
		{"12", nil, "VALID", 0},
		{"12", broken, "INVALID(died of signal 15 (terminated), node1)", 1},
		{"12", plan.ErrInterrupted, "INVALID(interrupted)", 130},
		{"13", broken, "INVALID(Slurm job 13 has reached its time limit)", 1},
		{"13", plan.ErrInterrupted, "INVALID(Slurm job 13 has reached its time limit)", 1},
		{"14", broken, "INVALID(Slurm job 14 has been ended (NODE_FAIL): died of signal 15 (terminated), node1)", 1},
		{"99", broken, "INVALID(died of signal 15 (terminated), node1)", 1},
	}
	for _, test := range tests {
		err := explain(context.Background(), nodes.Slurm{Job: test.job, Scontrol: scontrol}, onSlurm, test.err)
		verdict := "VALID"
		if err != nil {
			verdict = trial.VerdictOf(err).String()
		}
		if verdict != test.want || ExitStatus(err) != test.status {
			t.Errorf("job %s, %v: verdict %s, exit status %d; want %s, %d", test.job, test.err, verdict, ExitStatus(err), test.want, test.status)
		}
	}
}
