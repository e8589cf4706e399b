package labtest

import _ "embed" // for Source and ClientSource

// Source is the text of a program that is the course's base server in its simplest form. It is
// the server of docs/targets.md that somebody else wrote.
//
//go:embed testdata/stranger/main.go
var Source string

// ClientSource is the text of a program that is the course's base client in its simplest form.
//
//go:embed testdata/client/main.go
var ClientSource string
