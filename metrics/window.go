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
	// WindowRoom is how much longer than that a longer window of an experiment is, so that the
	// other trials can have it too.
	WindowRoom = 1.5
	// WindowsApart is the share by which the windows of an experiment's trials may differ.
	WindowsApart = 0.05
	// WarmUpRounds is the least length of a closed loop's warm-up, unless it is 0.
	WarmUpRounds = 3
)

// WindowLength says how a run's window came to its length, in seconds.
type WindowLength struct {
	AskedS float64 `json:"asked_s"`           // -secs
	RoundS float64 `json:"round_s,omitempty"` // the longest recent round of any worker before the window, or in its first half without a warm-up; 0 of an open loop
	NeedsS float64 `json:"needs_s,omitempty"` // WindowRounds of these; 0 where -secs decides alone: an open loop, --soak, --restart-at
	UsedS  float64 `json:"used_s"`            // what all clients were told

	// DefaultBatch is the default of -batch, which the launcher may lower so that rounds fit; 0
	// where -batch was typed. Batch is what the clients used.
	DefaultBatch uint64 `json:"default_batch,omitempty"`
	Batch        uint64 `json:"batch,omitempty"`
}

// windowS returns the length of the trial's window that was asked for, the one that was
// used, and the one that its rounds needed, which may have become longer in it. All are 0
// where -secs decides alone.
func (t Trial) windowS() (asked, used, needed float64) {
	if t.Run == nil || t.Run.Window == nil || t.Run.Window.NeedsS == 0 {
		return 0, 0, 0
	}
	w := t.Run.Window
	needed = w.UsedS
	for _, node := range t.Run.Clients() {
		s := node.Summary
		if s == nil {
			continue
		}
		round := s.Latency[OpLatency].Mean / 1e6
		for _, account := range s.Workers {
			if account.Rounds != nil {
				round = max(round, account.Rounds.AcrossS)
			}
		}
		if LeastRounds*round > w.UsedS {
			needed = max(needed, min(WindowRoom*WindowRounds*round, LongestWindow.Seconds()))
		}
	}
	return w.AskedS, w.UsedS, needed
}

// SharedWindow returns the length in seconds of the windows of an experiment's trials that
// ask for a length: the longest that one of them needed. It is 0 if none says so.
func SharedWindow(trials []Trial, askedS float64) (length float64) {
	for _, t := range trials {
		if asked, _, needed := t.windowS(); asked == askedS {
			length = max(length, needed)
		}
	}
	return length
}

// SharedBatch returns the batch of an experiment's trials that have a default of -batch: the
// smallest to which that of one of them was lowered. It is 0 if none was.
func SharedBatch(trials []Trial, of uint64) (batch uint64) {
	for _, t := range trials {
		if def, used := t.batch(); def == of && used < def && (batch == 0 || used < batch) {
			batch = used
		}
	}
	return batch
}

// batch returns the default of the trial's -batch and what was used. Both are 0 where it was
// typed.
func (t Trial) batch() (def, used uint64) {
	if t.Run == nil || t.Run.Window == nil || t.Run.Window.DefaultBatch == 0 {
		return 0, 0
	}
	return t.Run.Window.DefaultBatch, t.Run.Window.Batch
}

// mostAdapted is how often a trial is made again because a later one needed a longer window, or
// a smaller batch. Each length has room for rounds half as long again, so three are a factor of
// three.
const mostAdapted = 3

// Unequal reports whether the trial is to be made again because another one of an experiment
// has needed a longer window, or a smaller default of -batch.
func (t Trial) Unequal(trials []Trial) bool {
	asked, used, _ := t.windowS()
	def, batch := t.batch()
	_, adapted := t.attempts()
	shared := SharedBatch(trials, def)
	return adapted < mostAdapted && (used < (1-WindowsApart)*SharedWindow(trials, asked) || shared > 0 && batch > shared)
}
