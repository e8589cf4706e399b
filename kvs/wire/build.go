package wire

import "runtime/debug"

// build is the commit that this program was built from, with a mark when files
// differed from it; "" when that is not known, as in tests. Programs of two
// commits may agree on the protocol and still not on what a key's value is.
var build = buildOf(debug.ReadBuildInfo())

func buildOf(info *debug.BuildInfo, ok bool) string {
	if !ok {
		return ""
	}
	settings := make(map[string]string)
	for _, s := range info.Settings {
		settings[s.Key] = s.Value
	}
	commit := settings["vcs.revision"]
	if commit != "" && settings["vcs.modified"] == "true" {
		commit += "-dirty"
	}
	return commit
}
