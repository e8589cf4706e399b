package metrics

import (
	"bytes"
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"os"
)

// Schema is the version of the form of a run folder's files. It grows when a field gets
// another meaning, or when a reader asks for a field that was not there. A reader refuses
// every other version.
const Schema = 2

// CheckSchema returns an error that names the file, unless its version is Schema.
func CheckSchema(file string, version int) error {
	age := "an older"
	switch {
	case version == Schema:
		return nil
	case version > Schema:
		age = "a newer"
	}
	return fmt.Errorf("%s is of %s format: schema %d, want %d; use the kvlab that wrote it", file, age, version, Schema)
}

// ReadJSON reads a file that holds one JSON value. Its error names the file.
func ReadJSON(path string, value any) error {
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	return DecodeJSON(path, text, value)
}

// DecodeJSON decodes the text of a file that holds one JSON value. It refuses a Run, a
// Sweep, Trials and a Manifest of another Schema. Its error names the file, and of wrong JSON
// the line.
func DecodeJSON(file string, text []byte, value any) error {
	err := json.Unmarshal(text, value)
	if syntax, ok := errors.AsType[*json.SyntaxError](err); ok {
		return wrongJSON(file, text, syntax.Offset, err)
	}
	for _, version := range versions(value) { // another form may have fields of other types
		if err := CheckSchema(file, version); err != nil {
			return err
		}
	}
	if kind, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		return wrongJSON(file, text, kind.Offset, err)
	} else if err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	return nil
}

func wrongJSON(file string, text []byte, offset int64, err error) error {
	return fmt.Errorf("%s:%d: %w", file, 1+bytes.Count(text[:offset], []byte("\n")), err)
}

// versions returns the versions that a file's value carries.
func versions(value any) (all []int) {
	switch v := value.(type) {
	case *Run:
		return []int{v.Schema}
	case *Sweep:
		return []int{v.Schema}
	case *Manifest:
		return []int{v.Schema}
	case *[]Trial:
		for _, t := range *v {
			all = append(all, t.Schema)
		}
	}
	return all
}

// Declarations is the declarations of the records, which kvsplot fields prints.
//
//go:embed *.go stats/*.go
var Declarations embed.FS

// The profiles of a run with -profile lie in a folder of its folder: server0.pb.gz, client0.pb.gz, or
// store0.pb.gz of a foreign store, by the number of the node in its role. server0.txt says why there
// is none.
const (
	ProfileFolder = "profiles"
	ProfileEnding = ".pb.gz"
)

// ManifestFile is the last file that the launcher writes to the folder of a run, or of an
// experiment: a Manifest of all others.
const ManifestFile = "manifest.json"

// Manifest lists the files of a folder and of the folders below it, by name. Of a folder
// below it that has a manifest, it lists that alone. It lists no pictures and pages, which
// kvsplot draws again, and no folders of trials that were cut.
type Manifest struct {
	Schema int       `json:"schema"` // as in Run
	Files  []FileSum `json:"files"`
}

// FileSum is a file's name, relative to the folder, its size and its digest in hex.
type FileSum struct {
	Name   string `json:"name"`
	Bytes  int64  `json:"bytes"`
	SHA256 string `json:"sha256"`
}
