package labtest

import (
	"math/rand/v2"
	"time"
)

// Remote is a call of a form.
type Remote struct {
	Method string
	Args   any
	Reply  any
}

// Forms are the calls of clients by their servers' preset. Their types are those of teams.
var Forms = map[string]func([]Op) []Remote{
	"base": func(ops []Op) (calls []Remote) {
		for _, op := range ops {
			if op.IsRead {
				calls = append(calls, Remote{"KVService.Get", &GetArgs{op.Key}, &GetReply{}})
			} else {
				calls = append(calls, Remote{"KVService.Put", &PutArgs{op.Key, op.Value}, &PutReply{}})
			}
		}
		return calls
	},
	"clawcodes": func(ops []Op) []Remote {
		args := &OpTypeArgs{}
		for _, op := range ops {
			kind := "PUT"
			if op.IsRead {
				kind = "GET"
			}
			args.Operations = append(args.Operations, struct{ OpType, Key, Value string }{kind, op.Key, op.Value})
		}
		return []Remote{{"KVService.BatchOp", args, &OpTypeReply{}}}
	},
	"dashree": func(ops []Op) []Remote {
		args := &NumberedArgs{}
		for _, op := range ops {
			kind := 1
			if op.IsRead {
				kind = 0
			}
			args.Operations = append(args.Operations, struct {
				Type       int
				Key, Value string
			}{kind, op.Key, op.Value})
		}
		return []Remote{{"KVService.ExecuteBatch", args, &NumberedReply{}}}
	},
	"citywatch": func(ops []Op) []Remote {
		return []Remote{{"KVService.Process_Batch", &RequestArgs{RequestID: rand.Int64(), Data: ops}, &Values{}}}
	},
	"kangyang": func(ops []Op) []Remote {
		args := &IndexedArgs{Operations: ops}
		for i := range ops {
			args.Indices = append(args.Indices, i)
		}
		return []Remote{{"KVService.ProcessBatch", args, &Values{}}}
	},
	"haoren": func(ops []Op) (calls []Remote) {
		gets, puts := &GetBatchArgs{}, &PutBatchArgs{}
		for _, op := range ops {
			if op.IsRead {
				gets.Keys = append(gets.Keys, GetArgs{op.Key})
			} else {
				puts.Items = append(puts.Items, PutArgs{op.Key, op.Value})
			}
		}
		if len(gets.Keys) > 0 {
			calls = append(calls, Remote{"KVService.GetBatch", gets, &GetBatchReply{}})
		}
		if len(puts.Items) > 0 {
			calls = append(calls, Remote{"KVService.PutBatch", puts, &PutReply{}})
		}
		return calls
	},
	"sacatrash": func(ops []Op) []Remote { return []Remote{{"KVService.Batch", &struct{ Ops []Op }{ops}, &Values{}}} },
	"venkateshdb": func(ops []Op) []Remote {
		args, stamp := &StampedArgs{}, uint64(time.Now().UnixNano())
		for i, op := range ops {
			args.Requests = append(args.Requests, struct {
				Key, Value string
				IsRead     bool
				Timestamp  uint64
			}{op.Key, op.Value, op.IsRead, stamp + uint64(i)})
		}
		return []Remote{{"KVService.BatchRequest", args, &StampedReply{}}}
	},
	"gianghta": func(ops []Op) []Remote {
		gets, puts := split(ops)
		args := &BatchGetArgs{}
		for _, op := range gets {
			args.Requests = append(args.Requests, GetArgs{op.Key})
		}
		return append([]Remote{{"KVService.BatchGet", args, &BatchGetReply{}}}, puts...)
	},
	"dashree-gets": func(ops []Op) []Remote {
		gets, puts := split(ops)
		args := &KeysArgs{}
		for _, op := range gets {
			args.Key = append(args.Key, op.Key)
		}
		for i := range puts {
			puts[i].Reply = &AckedReply{}
		}
		return append([]Remote{{"KVService.Get", args, &KeysReply{}}}, puts...)
	},
}

// split returns the GETs, and a call for each PUT.
func split(ops []Op) (gets []Op, puts []Remote) {
	for _, op := range ops {
		if op.IsRead {
			gets = append(gets, op)
		} else {
			puts = append(puts, Remote{"KVService.Put", &PutArgs{op.Key, op.Value}, &PutReply{}})
		}
	}
	return gets, puts
}
