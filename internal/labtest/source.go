package labtest

import _ "embed" // for Source

// Source is the text of a program that is the course's base server in its simplest form. It is
// the stranger's server of docs/targets.md.
//
//go:embed testdata/stranger/main.go
var Source string
