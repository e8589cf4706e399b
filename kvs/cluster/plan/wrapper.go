package plan

import "errors"

// Wrapper starts the servers' programs behind walls: their own, or those of a foreign store that
// they start. Its command lines run the launcher's program, which lies at the path launcher.
type Wrapper interface {
	String() string // the limits of what is started, as --contain has them

	// Command returns the command line that starts another one. The folders of write are the
	// program's to write in, and end with it. What starts a node announces itself to the
	// launcher (node.Contained), and ends after the node's control pipe.
	Command(launcher string, isNode bool, write []string, words ...string) []string

	// Build returns the command line that starts a build, without a network. The build sees
	// the folders of read, and those of over with its own files on top, which end with it.
	Build(launcher string, read, over []string, words ...string) []string

	// Walls returns the command line that prints the []metrics.Wall of its machine as JSON.
	Walls(launcher string) []string
}

// ContainFlag is the launcher's flag --contain, which names the limits of a Wrapper.
type ContainFlag struct {
	Usage string
	Parse func(limits string) (Wrapper, error) // its error says what is wrong, and the right form
}

// SetContain contains the servers' programs within limits, as --contain does.
func (s *Spec) SetContain(limits string) (err error) {
	if s.ContainFlag == nil {
		return errors.New("this launcher has no --contain")
	}
	s.Contain, err = s.ContainFlag.Parse(limits)
	return err
}
