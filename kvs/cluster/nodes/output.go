package nodes

import (
	"bytes"
	"errors"
	"os/exec"
	"time"

	"kvlab/metrics/format"
)

// Output runs a command and returns its standard output. The error of a command that fails
// after a message is the message's last line.
func Output(cmd *exec.Cmd) (string, error) {
	var said bytes.Buffer
	cmd.Stderr, cmd.WaitDelay = &said, time.Second
	out, err := cmd.Output()
	if line := format.LastLine(said.String()); err != nil && line != "" {
		err = errors.New(line)
	}
	return string(out), err
}
