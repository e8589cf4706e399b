package cluster

import (
	"context"
	"strings"
	"testing"

	"kvlab/kvs/cluster/nodes"
	"kvlab/kvs/cluster/plan"
	"kvlab/kvs/cluster/trial"
)

// fakeScontrol answers as Slurm 22.05 does.
const fakeScontrol = `
case $* in
"show hostnames node[0-1]") printf 'node0\nnode1\n' ;;
"show hostnames node7") echo node7 ;;
"show hostnames bad") echo -oProxyCommand=x ;;
"-o show node node[0-1]")
	echo "NodeName=node0 Arch=x86_64 NodeAddr=localhost NodeHostName=node0 Port=6818"
	echo "NodeName=node1 Arch=x86_64 NodeAddr=127.0.0.9 NodeHostName=node1 Port=6818" ;;
"-o show node node7") echo "NodeName=node7 NodeAddr=10.0.0.7" ;;
"-o show job 12") echo "JobId=12 JobName=x JobState=RUNNING Reason=None" ;;
"-o show job 13") echo "JobId=13 JobName=x JobState=COMPLETING Reason=TimeLimit" ;;
"-o show job 14") echo "JobId=14 JobName=x JobState=NODE_FAIL Reason=NodeDown" ;;
*) echo "scontrol: error: not asked for: $*" >&2; exit 1 ;;
esac
`

func TestSlurmNodes(t *testing.T) {
	scontrol := script(t, "scontrol", fakeScontrol)
	tests := []struct {
		name, job, list, hosts string
		args                   []string
		want                   string // part of the plan, or of the error
	}{
		{"own name is loopback", "12", "node[0-1]", "", nil, "\nnode0: server at 127.0.0.1:8080, by srun in Slurm job 12\n"},
		{"stated address is an IP", "12", "node[0-1]", "", []string{"--slurm"}, "\nnode1: client at 127.0.0.9, by srun in Slurm job 12\n"},
		{"other order, other address", "12", "node[0-1]", "node1\nnode0 addr=10.9.9.9", []string{"--slurm"}, "\nnode0: client at 10.9.9.9, by srun"},
		{"names without --slurm are for ssh", "12", "node[0-1]", "node0 addr=10.9.9.9\nnode1 addr=10.9.9.8", nil, "\nnode1: client at 10.9.9.8, by ssh node1\n"},
		{"one node is this machine", "12", "node7", "", nil, "on this machine\n"},
		{"one node", "12", "node7", "", []string{"--slurm"}, "error: a run needs at least 2 nodes, a server and a client"},
		{"no job", "", "", "", []string{"--slurm"}, "error: SLURM_JOB_ID is not set): begin one with `salloc"},
		{"a stranger", "12", "node[0-1]", "", []string{"--slurm", "--nodes", "node0,node9"}, "error: node node9 is not in Slurm job 12, which has node[0-1]"},
		{"ssh and srun", "12", "node[0-1]", "node0 ssh=me@node0\nnode1", []string{"--slurm"}, "error: node node0 is reached by srun: it goes without ssh=me@node0"},
		{"no answer", "12", "node[5-6]", "", nil, "error: show hostnames node[5-6]: scontrol: error: not asked for"},
		{"an attack", "12", "bad", "", nil, `error: "-oProxyCommand=x" is no node name`},
		{"--local", "12", "node[0-1]", "", []string{"--slurm", "--local"}, "error: --slurm excludes --local"},
		{"--ssh-config", "12", "node[0-1]", "", []string{"--slurm", "--ssh-config", "/dev/null"}, "error: --slurm excludes --ssh-config"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			tr := newTrial(t)
			tr.Slurm = nodes.Slurm{Job: test.job, NodeList: test.list, Scontrol: scontrol}
			args := append(test.args, "--dry-run")
			if test.hosts != "" {
				args = append(args, "--hosts", writeHosts(t, test.hosts))
			}
			err := tr.Run(context.Background(), args)
			if want, isError := strings.CutPrefix(test.want, "error: "); isError {
				if err == nil || ExitStatus(err) != 2 || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\n") {
					t.Errorf("error %v, want one line with %q", err, want)
				}
			} else if err != nil || !strings.Contains(tr.stdout.String(), want) {
				t.Errorf("error %v, plan %s; want %q", err, tr.stdout.String(), want)
			}
		})
	}
}

// What the job's end adds to the run's.
func TestSlurmExplain(t *testing.T) {
	scontrol := script(t, "scontrol", fakeScontrol)
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
