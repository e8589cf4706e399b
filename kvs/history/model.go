package history

import (
	"fmt"
	"io"
	"time"

	"github.com/anishathalye/porcupine"

	"kvlab/metrics"
)

// timeLimit is porcupine's time limit. It checks a part in microseconds.
const timeLimit = 10 * time.Second

// register is the sequential model of one key. Its state is the value. No read of a part
// sees the first one, because a part includes the write of every value that it reads.
var register = porcupine.Model{
	Init: func() any { return metrics.NoWrite },
	Step: func(state, input, _ any) (bool, any) {
		o := input.(op)
		if o.Read != nil && *o.Read != state.(metrics.WriteID) {
			return false, state
		}
		if o.Wrote != metrics.NoWrite || o.Read == nil { // also a Delete that found the key
			return true, o.Wrote
		}
		return true, state
	},
	DescribeOperation: func(input, _ any) string { return describe(input.(op)) },
	DescribeState:     func(state any) string { return state.(metrics.WriteID).String() },
}

// describe returns an operation's text in a picture. An operation without a worker's
// time represents one that was not recorded.
func describe(o op) string {
	who := fmt.Sprintf("%d.%d", o.Client, o.Worker)
	switch {
	case o.Deleted && o.Read != nil:
		return fmt.Sprintf("%s: delete -> %s", who, *o.Read)
	case o.Deleted && o.ReturnNs == metrics.Never:
		return fmt.Sprintf("%s: delete, outcome unknown", who)
	case o.Deleted:
		return fmt.Sprintf("%s: delete", who)
	case o.CallNs == always || o.Read == nil && o.Wrote == metrics.NoWrite:
		return fmt.Sprintf("put %s, not recorded", o.Wrote)
	case o.Read == nil && o.ReturnNs == metrics.Never:
		return fmt.Sprintf("%s: put %s, outcome unknown", who, o.Wrote)
	case o.Read == nil:
		return fmt.Sprintf("%s: put %s", who, o.Wrote)
	case o.Wrote == metrics.NoWrite:
		return fmt.Sprintf("%s: get -> %s", who, *o.Read)
	}
	return fmt.Sprintf("%s: read-modify-write %s -> %s", who, *o.Read, o.Wrote)
}

// operations gives each operation a separate row, as those of one batch overlap.
func operations(part []op) []porcupine.Operation {
	var all []porcupine.Operation
	for i, o := range part {
		all = append(all, porcupine.Operation{ClientId: i, Input: o, Call: o.CallNs, Return: o.ReturnNs})
	}
	return all
}

// judge returns porcupine's verdict.
func judge(part []op) Outcome {
	outcomes := map[porcupine.CheckResult]Outcome{porcupine.Ok: OK, porcupine.Illegal: Illegal, porcupine.Unknown: Unknown}
	return outcomes[porcupine.CheckOperationsTimeout(register, operations(part), timeLimit)]
}

// draw writes porcupine's picture of a result's part as an HTML page.
func draw(out io.Writer, part []metrics.HistoryOp) error {
	_, info := porcupine.CheckOperationsVerbose(register, operations(part), timeLimit)
	return porcupine.Visualize(register, info, out)
}
