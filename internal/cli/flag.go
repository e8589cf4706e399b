package cli

import "fmt"

// Want returns nil if a flag's value is ok, and else an error that names the flag and
// its right form.
func Want(ok bool, flag string, value any, want string, args ...any) error {
	if ok {
		return nil
	}
	return fmt.Errorf("%s %v: want %s", flag, value, fmt.Sprintf(want, args...))
}
