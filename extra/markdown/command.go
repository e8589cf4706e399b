package markdown

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"kvlab/plots/command"
)

// Command writes the section of a README.
var Command = command.Command{
	Name:     "markdown",
	Synopsis: []string{"markdown [--latex] [-o FILE] RUN [RUN ...]"},
	Usage: `markdown: writes the section of a README or a report: the result, usage, scaling or
comparison, settings, hardware, and the commands to measure it again, as GitHub renders
it. With -o, figures go into the folder figures beside FILE. --latex writes the tables
alone, for a paper.
`,
	Run: func(c *command.Call) error {
		out := c.Flags.String("o", "", "write into this `file`; without, the figures are those of the run folders")
		latex := c.Flags.Bool("latex", false, "write the tables for LaTeX, with the package booktabs")
		dirs, err := c.Words()
		if err != nil {
			return err
		}
		if len(dirs) == 0 {
			return command.Wrong("no run folder named: want kvsplot markdown RUN [RUN ...], for example kvsplot markdown logs/latest")
		}
		program, err := os.Executable()
		if err != nil {
			return err
		}
		s, err := of(filepath.Dir(filepath.Dir(program)), dirs)
		if err != nil {
			return command.UsageError{Err: err}
		}
		text, mark := "", "<!-- kvsplot markdown -->\n"
		if *latex {
			text, mark = s.latex(), "% Needs"
		} else {
			text = s.github(s.linked)
		}
		if *out == "" {
			_, err = io.WriteString(c.Stdout, text)
			return err
		}
		if !*latex {
			text = mark + s.github(func(name string) string { return filepath.Join(figures, name+".png") })
		}
		if err := replace(*out, text, mark); err != nil {
			return command.UsageError{Err: err}
		}
		if !*latex {
			return s.draw(filepath.Join(filepath.Dir(*out), figures))
		}
		return nil
	},
}

// figures is the folder of the figures beside a file.
const figures = "figures"

// linked returns where the file of a figure is in its run folder; "" if it is not there.
func (s *section) linked(name string) string {
	f := s.figures[name]
	path := filepath.Join(f.dir, f.Name+".png")
	if _, err := os.Stat(path); f.dir == "" || err != nil {
		return ""
	}
	return path
}

// replace writes a file that is not there, or that begins with a mark, as an earlier one does.
func replace(path, text, mark string) error {
	before, err := os.ReadFile(path)
	switch {
	case err == nil && !strings.HasPrefix(string(before), mark):
		return fmt.Errorf("-o %s: the file is there, and kvsplot markdown has not written it: name another", path)
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("-o: %w", err)
	}
	return os.WriteFile(path, []byte(text), 0o644)
}

// draw writes the figures into a folder.
func (s *section) draw(dir string) error {
	err := os.MkdirAll(dir, 0o755)
	for name, f := range s.figures {
		if err != nil {
			break
		}
		var png []byte
		if png, err = f.PNG(); err == nil {
			err = os.WriteFile(filepath.Join(dir, name+".png"), png, 0o644)
		}
	}
	return err
}
