package plots

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// Draw writes a run folder's figures, as PNG and SVG, and report.html into the
// folder itself, and returns the names of the files it wrote.
func Draw(dir string) ([]string, error) {
	r, err := LoadDir(dir)
	if err != nil {
		return nil, err
	}
	return DrawRun(r, dir)
}

// LoadDir is Load on a folder of the file system; its errors name the folder.
func LoadDir(dir string) (*Run, error) {
	r, err := Load(os.DirFS(dir))
	var input *InputError
	if errors.As(err, &input) {
		return nil, &InputError{fmt.Errorf("%s: %w", dir, input.Err)}
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", dir, err)
	}
	return r, nil
}

// DrawRun writes the figures and report.html of a run into out and returns the
// names of the files it wrote.
func DrawRun(r *Run, out string) ([]string, error) {
	files, err := write(Figures(r), out)
	if err != nil {
		return files, err
	}
	page, err := Report(r)
	if err != nil {
		return files, err
	}
	return writeFile(files, filepath.Join(out, "report.html"), page)
}

// write renders figures into out in both formats.
func write(figures []Figure, out string) (files []string, err error) {
	if err := os.MkdirAll(out, 0o755); err != nil {
		return nil, fmt.Errorf("make the folder for figures: %w", err)
	}
	for _, f := range figures {
		for _, format := range []struct {
			ending string
			render func() ([]byte, error)
		}{{".png", f.PNG}, {".svg", f.SVG}} {
			picture, err := format.render()
			if err != nil {
				return files, err
			}
			files, err = writeFile(files, filepath.Join(out, f.Name+format.ending), picture)
			if err != nil {
				return files, err
			}
		}
	}
	return files, nil
}

// writeFile writes one file and adds its name to files.
func writeFile(files []string, name string, content []byte) ([]string, error) {
	if err := os.WriteFile(name, content, 0o644); err != nil {
		return files, fmt.Errorf("write a figure: %w", err)
	}
	return append(files, name), nil
}
