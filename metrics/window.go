package metrics

import "time"

const (
	// WindowRounds is the least length of a closed loop's window, in its longest recent
	// rounds. It has LeastRounds even if later ones are a fifth longer.
	WindowRounds = 12
	// LeastRounds is the number of rounds from which the operations under way at a window's
	// ends are less than a tenth of it.
	LeastRounds = 10
	// LongestWindow is the longest window that rounds lead to. A longer -secs stays.
	LongestWindow = 2 * time.Minute
	// WarmUpRounds is the least length of a closed loop's warm-up, unless it is 0.
	WarmUpRounds = 3
)

// WindowLength says how a run's window came to its length, in seconds.
type WindowLength struct {
	AskedS float64 `json:"asked_s"`           // -secs
	RoundS float64 `json:"round_s,omitempty"` // the longest recent round of any worker before the window, or in its first half without a warm-up; 0 of an open loop
	NeedsS float64 `json:"needs_s,omitempty"` // WindowRounds of these; 0 where -secs decides alone: an open loop, --soak, --restart-at
	UsedS  float64 `json:"used_s"`            // what all clients were told
}
