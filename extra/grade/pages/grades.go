package pages

import (
	"bytes"
	"encoding/csv"
	"strconv"
	"strings"

	"kvlab/metrics/format"
)

// grades returns grades.csv: a row for each entry but the reference. A number that was not
// measured, and points that are no grade, are empty.
func (b *board) grades() []byte {
	var out bytes.Buffer
	w := csv.NewWriter(&out) // a bytes.Buffer has no errors
	_ = w.Write([]string{"name", "students", "verdict", "reason", "rank", "rank_low", "rank_high", "ratio", "ratio_low", "ratio_high", "ops_per_s", "score", "score_plus_minus", "points", "valid_trials", "failed_trials"})
	for _, r := range b.Rows {
		if r.Reference {
			continue
		}
		word := "VALID"
		if !r.Verdict.Valid {
			word = "INVALID"
		}
		cells := []string{inert(r.Entry), inert(strings.Join(r.Of.Students, "; ")), word, inert(format.OneLine(r.Reason))}
		ranks := []int{r.Rank, r.RankLow, r.RankHigh}
		if !b.Decided() {
			ranks = make([]int, 3)
		}
		for _, v := range ranks {
			cells = append(cells, measured(float64(v)))
		}
		for _, v := range []float64{r.Ratio, r.RatioLow, r.RatioHigh, r.OpsPerS} {
			cells = append(cells, measured(v))
		}
		half, _ := r.PlusMinus()
		score, points := format.Shortest(twoDecimals(r.Score)), format.Shortest(r.Grade)
		if b.Standings.Void != "" {
			score = ""
		}
		if !r.Graded {
			points = ""
		}
		_ = w.Write(append(cells, score, measured(twoDecimals(half)), points, strconv.Itoa(r.Valid), strconv.Itoa(len(r.Failed))))
	}
	w.Flush()
	return out.Bytes()
}

// measured returns a number, "" for 0.
func measured(v float64) string {
	if v == 0 {
		return ""
	}
	return format.Shortest(v)
}

// inert returns one line of text that a spreadsheet does not take for a formula: an apostrophe,
// which spreadsheets hide, stands before one. Quotes would not help, because they belong to
// the CSV and not to the cell (https://owasp.org/www-community/attacks/CSV_Injection).
func inert(text string) string {
	text = format.Label(text, 300)
	if text != "" && strings.ContainsRune("=+-@＝＋－＠", []rune(text)[0]) {
		return "'" + text
	}
	return text
}
