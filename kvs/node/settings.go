package node

import (
	"encoding/json"
	"errors"
	"io"
)

// settingsFlag, as the first argument, asks what the others come to. flagsFlag, as
// the only one, asks which flags there are.
const (
	settingsFlag = "settings"
	flagsFlag    = "-flags"
)

// settings prints the final value of every flag as a JSON object, so that a
// launcher can check a node's arguments before it starts anything.
func (p Program) settings(args []string, stdout io.Writer) error {
	flags, err := p.Parse(args)
	if err != nil {
		return noHelp(err)
	}
	return json.NewEncoder(stdout).Encode(flags.Values())
}

// list prints the description of every flag as a JSON array, so that a launcher can
// take the flags as its own.
func (p Program) list(stdout io.Writer) error {
	flags, err := p.Parse(nil)
	if err != nil {
		return err
	}
	return json.NewEncoder(stdout).Encode(flags.List())
}

// noHelp makes a request for help, where nobody can read it, a UsageError.
func noHelp(err error) error {
	var help helpError
	if errors.As(err, &help) {
		return UsageError{errors.New(help.Error())}
	}
	return err
}
