package cluster

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"strings"
	"syscall"
	"testing"

	"kvlab/kvs/cluster/nodes"
	"kvlab/kvs/cluster/plan"
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
		{"one node", "12", "node7", "", []string{"--slurm"}, "error: a run needs at least a server and a client"},
		{"no job", "", "", "", []string{"--slurm"}, "error: SLURM_JOB_ID is not set): begin one with `salloc"},
		{"a stranger", "12", "node[0-1]", "", []string{"--slurm", "--nodes", "node0,node9"}, "error: node node9 is not in Slurm job 12, which has node[0-1]"},
		{"ssh and srun", "12", "node[0-1]", "node0 ssh=me@node0\nnode1", []string{"--slurm"}, "error: node node0 is reached by srun: it goes without ssh=me@node0"},
		{"no answer", "12", "node[5-6]", "", nil, "error: show hostnames node[5-6]: scontrol: error: not asked for"},
		{"an attack", "12", "bad", "", nil, `error: "-oProxyCommand=x" is no node name`},
		{"--local", "12", "node[0-1]", "", []string{"--slurm", "--local"}, "error: --slurm reaches the nodes by srun"},
		{"--ssh-config", "12", "node[0-1]", "", []string{"--slurm", "--ssh-config", "/dev/null"}, "error: --slurm reaches the nodes by srun"},
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
		err := explain(context.Background(), nodes.Slurm{Job: test.job, Scontrol: scontrol}, test.err)
		verdict := "VALID"
		if err != nil {
			verdict = verdictOf(err).String()
		}
		if verdict != test.want || ExitStatus(err) != test.status {
			t.Errorf("job %s, %v: verdict %s, exit status %d; want %s, %d", test.job, test.err, verdict, ExitStatus(err), test.want, test.status)
		}
	}
}

func TestSrunFailure(t *testing.T) {
	ended := errors.New("exit status 1")
	tests := []struct{ stderr, want string }{
		{"", "exit status 1"},
		{"srun: cluster configuration lacks support for cpu binding\n", "exit status 1"},
		{"srun: error: Unable to create step for job 1: Requested node configuration is not available\n", "cannot be reached: srun: error: Unable to create step for job 1: Requested node configuration is not available"},
		{"/tmp/kvlab-me belongs to somebody else\nsrun: error: node1: task 0: Exited with exit code 1\n", "/tmp/kvlab-me belongs to somebody else"},
		{"srun: error: node2: task 0: Exited with exit code 2\nslurmstepd-node2: error: execve(): dd: No such file or directory\n", "slurmstepd-node2: error: execve(): dd: No such file or directory"},
		{"srun: error: node2: task 0: Killed\n", "exit status 1"},
	}
	for _, test := range tests {
		if got := (srun{}).failure(ended, test.stderr); got.Error() != test.want {
			t.Errorf("%q: %v, want %s", test.stderr, got, test.want)
		}
	}
}

func TestSrunDeath(t *testing.T) {
	code := func(n int) syscall.WaitStatus { return syscall.WaitStatus(n << 8) }
	tests := []struct {
		status syscall.WaitStatus
		log    string
		want   string
	}{
		{code(3), "pid 7", "died with exit status 3"},
		{code(137), "pid 7|stderr: srun: error: node1: task 0: Killed", "died of signal 9 (killed) (srun: error: node1: task 0: Killed)"},
		{code(143), "stderr: slurmstepd-node1: error: *** STEP 3.2 ON node1 CANCELLED DUE TO NODE FAILURE ***|stderr: srun: error: node1: task 0: Terminated",
			"died of signal 15 (terminated) (slurmstepd-node1: error: *** STEP 3.2 ON node1 CANCELLED DUE TO NODE FAILURE ***)"},
		{code(1), "srun: error: in the node's own words", "died with exit status 1"},
		{syscall.WaitStatus(9), "", "lost its srun, which died of signal 9 (killed)"},
	}
	for _, test := range tests {
		if got := (srun{}).death(test.status, strings.Split(test.log, "|")); got != test.want {
			t.Errorf("%v %q: %s, want %s", test.status, test.log, got, test.want)
		}
	}
}

// None of the variables that srun reads as options reaches it.
func TestStepEnvironment(t *testing.T) {
	got := stepEnvironment([]string{"PATH=/bin", "SLURM_CONF=/x", "SLURM_LABELIO=1", "SLURM_NTASKS=8", "SLURM_JWT=t", "MY_SLURM_X=1", "SLURM_UNBUFFEREDIO=1"})
	if want := []string{"PATH=/bin", "SLURM_CONF=/x", "SLURM_JWT=t", "MY_SLURM_X=1"}; !slices.Equal(got, want) {
		t.Errorf("environment %q, want %q", got, want)
	}
	var said bytes.Buffer
	cmd := (srun{script(t, "srun", `printf '%s\n' "$@"`)}).command(context.Background(), nodes.Node{Name: "node3", Way: nodes.Way{Kind: nodes.Srun, To: "12"}}, "sh", "-s")
	cmd.Stdout = &said
	if err := cmd.Run(); err != nil || !strings.HasPrefix(said.String(), "--jobid=12\n--nodelist=node3\n") || !strings.HasSuffix(said.String(), "\n--\nsh\n-s\n") {
		t.Errorf("srun is called as %s, %v", said.String(), err)
	}
}
