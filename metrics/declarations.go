package metrics

import "embed"

// Declarations is the declarations of the records, which kvsplot fields prints.
//
//go:embed *.go stats/*.go
var Declarations embed.FS
