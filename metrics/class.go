package metrics

// StandingsFile holds the Standings of a class's folder, which is a sweep's.
const StandingsFile = "standings.json"

// EntryKnob is the knob of a class. Its values are the names of the entries that can be
// measured, the reference among them.
const EntryKnob = "entry"

// Class is what a sweep grades: entries, beside a reference that is measured in the same
// rounds. A round measures every entry once, in random order.
type Class struct {
	Title     string      `json:"title"`
	Reference string      `json:"reference"`           // the name of an entry
	Entries   []Entry     `json:"entries"`             // in the order of the class file, the reference first
	Alpha     float64     `json:"alpha"`               // of an evening: the probability that a pair is put in a wrong order, or an equal pair told apart
	Looks     []int       `json:"looks"`               // numbers of rounds after which the ranks are decided
	Equal     float64     `json:"equal"`               // a share: entries that surely differ by less need no further rounds
	BudgetS   float64     `json:"budget_s"`            // no round begins that would end later than this; 0: no limit
	MemoryMB  float64     `json:"memory_mb,omitempty"` // gate: the largest resident memory of a server; 0: no limit
	Allow     []string    `json:"allow,omitempty"`     // names of the caveats that an entry's trials may have
	Score     []ScoreStep `json:"score"`               // in rising order of the ratio
	Precision float64     `json:"precision"`           // per cent: a score that is known less well, by Standing.PlusMinus, becomes no grade
	Subject   string      `json:"subject,omitempty"`   // the entry that this evening measures for a class that has others: the rest but the reference are those that may be neighbours in rank; "" for all
	Gradebook *Gradebook  `json:"gradebook,omitempty"` // nil: no grades are written for another system
}

// Gradebook is where the grades of a class go. Its paths are absolute.
type Gradebook struct {
	Canvas     string  `toml:"canvas" json:"canvas,omitempty"`         // a gradebook that Canvas exported; "" for none
	Moodle     string  `toml:"moodle" json:"moodle,omitempty"`         // a grading worksheet that was downloaded from Moodle; "" for none
	Assignment string  `toml:"assignment" json:"assignment,omitempty"` // the title of its column in Canvas, with the number, as in KV lab 2 (1234)
	Points     float64 `toml:"points" json:"points"`                   // of a score of 100 %
}

// ScoreStep is a point of the score, which is linear between two steps, and that of the
// first or last step below and above them.
type ScoreStep struct {
	Ratio   float64 `json:"ratio"`   // throughput over that of the reference
	Percent float64 `json:"percent"` // 0 to 100
}

// Entry is one store of a class.
type Entry struct {
	Name     string    `json:"name"`
	Kind     EntryKind `json:"kind"`
	From     string    `json:"from"`               // a path or a git revision, as the class file names it
	Args     string    `json:"args"`               // launcher flags, as a variant has them
	Commit   string    `json:"commit,omitempty"`   // of a checkout or a revision
	Sum      string    `json:"sha256,omitempty"`   // of the server's program, or the store's
	Source   string    `json:"source,omitempty"`   // the SHA-256 of the folder that was submitted; "" without one
	Students []string  `json:"students,omitempty"` // as a gradebook identifies them; the entry's name if there are none
	Ratio    float64   `json:"ratio,omitempty"`    // of one that may be a neighbour: its Standing's on earlier evenings
	Broken   string    `json:"broken,omitempty"`   // why it cannot be measured, such as the compiler's errors; "" if it can
}

// EntryKind is what an entry is built from.
type EntryKind string

// The kinds of entries.
const (
	CheckoutEntry EntryKind = "checkout" // a folder with kvlab's source, whose server is measured
	RevisionEntry EntryKind = "revision" // a git revision of this checkout, whose server is measured
	TargetEntry   EntryKind = "target"   // a target file: a store of any kind
)

// Standings is standings.json: what the trials of a class say of its entries so far.
type Standings struct {
	Rounds   int        `json:"rounds"`                   // complete ones that count
	Dropped  []int      `json:"dropped_rounds,omitempty"` // the numbers of those that count for no entry, as other processes disturbed some of their trials
	Void     string     `json:"void,omitempty"`           // why the evening makes no grades: its reference failed; "" if it does
	Ended    string     `json:"ended,omitempty"`          // why no further round is made; "" while some are to come
	Entries  []Standing `json:"entries"`                  // by rank, then by ratio; the reference, then invalid entries last
	Deciding int        `json:"deciding_round"`           // the round of the last look, or the last round if the budget ended; 0 before the first
}

// Standing is what the trials say of one entry.
type Standing struct {
	Entry   string  `json:"entry"`
	Earlier bool    `json:"earlier,omitempty"` // its team has handed in another one since, which counts
	Verdict Verdict `json:"verdict"`           // INVALID if the entry has failed a gate
	Reason  string  `json:"reason,omitempty"`  // one sentence of an invalid entry: the gate, and the trial that failed it

	// The true rank is within RankLow, which is 1 and the number of entries that are surely
	// faster, and RankHigh. Rank is the lowest RankLow of the entries whose ranges overlap,
	// one with the next; 0 of an invalid entry and of the reference, which is not ranked.
	// Before the first look all ranks are 1.
	Rank     int `json:"rank"`
	RankLow  int `json:"rank_low"`
	RankHigh int `json:"rank_high"`

	// Faster and Slower are the entries that surely are, by name.
	Faster []string `json:"faster,omitempty"`
	Slower []string `json:"slower,omitempty"`

	OpsPerS   float64 `json:"ops_per_s"` // geometric mean of its valid trials
	Ratio     float64 `json:"ratio"`     // geometric mean of the throughput over that of the reference in the same rounds
	RatioLow  float64 `json:"ratio_low"` // 95 % interval; 0 with fewer than 3 rounds, as RatioHigh
	RatioHigh float64 `json:"ratio_high"`
	Score     float64 `json:"score"`     // per cent; 0 of an invalid entry
	ScoreLow  float64 `json:"score_low"` // of RatioLow and RatioHigh
	ScoreHigh float64 `json:"score_high"`

	Valid  int   `json:"valid_trials"`
	Failed []int `json:"failed_trials,omitempty"` // their numbers
}

// PlusMinus returns the half-width of the score's 95 % interval, or the longer half, in per cent
// of the full score; known is false before there is one.
func (s Standing) PlusMinus() (half float64, known bool) {
	return max(s.Score-s.ScoreLow, s.ScoreHigh-s.Score), s.RatioHigh > 0
}

// Precise reports whether the entry's score is known well enough to be a grade. An entry that
// is INVALID has one, too.
func (c Class) Precise(s Standing) bool {
	half, known := s.PlusMinus()
	return !s.Verdict.Valid || known && half <= c.Precision
}

// Containment is what holds submitted programs in a run.
type Containment struct {
	Limits string `json:"limits"` // as --contain takes them
	Walls  []Wall `json:"walls"`  // on the node where the fewest hold
}

// Wall is one limit of a contained program.
type Wall struct {
	Name string `json:"name"` // such as memory, processes, files, network
	Held bool   `json:"held"`
	Why  string `json:"why,omitempty"` // it does not hold here: one sentence
}
