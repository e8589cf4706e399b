package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"

	"kvlab/kvs/node"
	"kvlab/kvs/wire"
)

// rawServer is a kvsserver -codec raw on loopback: client and server are two
// processes in a run, so that the network between two is what is measured. This
// process is its launcher.
type rawServer struct {
	addr     string
	commands io.WriteCloser
	events   *json.Decoder
	left     chan error // gets one, when the server has said its last
	process  *exec.Cmd
}

// serverBeside is the path of the kvsserver that was built with this program.
func serverBeside() (string, error) {
	own, err := os.Executable()
	if err != nil {
		return "", fmt.Errorf("find this program's folder: %w", err)
	}
	program := filepath.Join(filepath.Dir(own), "kvsserver")
	if _, err := os.Stat(program); err != nil {
		return "", fmt.Errorf("-ceiling starts the kvsserver in this program's folder: %w", err)
	}
	return program, nil
}

// startRawServer starts program. When ctx ends it is killed; when this process
// ends it leaves by itself.
func startRawServer(ctx context.Context, program, token string) (*rawServer, error) {
	s := &rawServer{left: make(chan error, 1), process: exec.CommandContext(ctx, program, "-control")}
	s.process.Stderr = os.Stderr
	var err error
	if s.commands, err = s.process.StdinPipe(); err != nil {
		return nil, fmt.Errorf("start %s: %w", program, err)
	}
	out, err := s.process.StdoutPipe()
	if err != nil {
		return nil, fmt.Errorf("start %s: %w", program, err)
	}
	s.events = json.NewDecoder(out)
	if err := s.process.Start(); err != nil {
		return nil, fmt.Errorf("start a raw server: %w", err) // it names the program
	}
	args := []string{"-node", wire.RawCodec, "-listen", "127.0.0.1:0", "-codec", wire.RawCodec}
	err = json.NewEncoder(s.commands).Encode(node.Command{Do: node.Start, Args: args, Token: token})
	if err == nil {
		s.addr, err = s.until(node.Ready)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("start a raw server: %w", err), s.end())
	}
	go func() {
		_, err := s.until(node.Done)
		s.left <- err
	}()
	return s, nil
}

// until reads events up to one of a kind and returns its address.
func (s *rawServer) until(kind string) (string, error) {
	for {
		var e node.Event
		if err := s.events.Decode(&e); err != nil {
			return "", fmt.Errorf("wait for %s: %w", kind, err)
		}
		switch e.Event {
		case kind:
			return e.Addr, nil
		case node.Error:
			return "", errors.New(e.Text)
		}
	}
}

// stop asks the server to leave and waits until it has.
func (s *rawServer) stop() error {
	err := json.NewEncoder(s.commands).Encode(node.Command{Do: node.Stop})
	if err == nil {
		err = <-s.left
	}
	if err = errors.Join(err, s.end()); err != nil {
		return fmt.Errorf("stop the raw server: %w", err)
	}
	return nil
}

// end lets go of the process's pipes, at which it leaves, and waits for it.
func (s *rawServer) end() error { return errors.Join(s.commands.Close(), s.process.Wait()) }
