package remote

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"strings"
	"syscall"
	"testing"

	"kvlab/kvs/cluster/nodes"
)

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
		if got := failure(srun{}, ended, test.stderr); got.Error() != test.want {
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
		if got := (srun{}).Death(test.status, strings.Split(test.log, "|")); got != test.want {
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
	cmd := (srun{script(t, "srun", `printf '%s\n' "$@"`)}).Command(context.Background(), nodes.Node{Name: "node3", Way: nodes.Way{Kind: nodes.Srun, To: "12"}}, "sh", "-s")
	cmd.Stdout = &said
	if err := cmd.Run(); err != nil || !strings.HasPrefix(said.String(), "--jobid=12\n--nodelist=node3\n") || !strings.HasSuffix(said.String(), "\n--\nsh\n-s\n") {
		t.Errorf("srun is called as %s, %v", said.String(), err)
	}
}
