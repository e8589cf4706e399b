package docs_test

import (
	"os"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

// TestScripts runs the command lines of testdata/script. ROOT is the repository's root.
func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir: "internal/docs/testdata/script",
		Setup: func(env *testscript.Env) (err error) {
			root, err := os.Getwd()
			env.Setenv("ROOT", root)
			return err
		},
	})
}
