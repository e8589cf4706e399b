package lab

import (
	"fmt"
	"slices"
	"strings"

	"kvlab/internal/cli"
)

// preset is a form that servers of the course have.
type preset struct {
	name     string // of the repository that has it
	carries  string // another name, of what its calls carry
	settings map[string]string
}

// presets are the course's server and those of teams, first the default.
var presets = []preset{
	{"base", "single", map[string]string{}},
	{"clawcodes", "batch-optype", map[string]string{"method": "KVService.BatchOp", "ops": "Operations", "kind": "OpType", "kinds": "GET,PUT", "results": "Results"}},
	{"dashree", "batch-type", map[string]string{"method": "KVService.ExecuteBatch", "ops": "Operations", "kind": "Type", "kinds": "0,1", "results": "Values", "errors": "Errors"}},
	{"dashree-gets", "gets-keys", map[string]string{"get-ops": "Key", "ack": "Ack"}},
	{"citywatch", "batch-requestid", map[string]string{"method": "KVService.Process_Batch", "ops": "Data", "kind": "IsRead", "id": "RequestID", "results": "Values"}},
	{"sacatrash", "batch-isread", map[string]string{"method": "KVService.Batch", "ops": "Ops", "kind": "IsRead", "results": "Values"}},
	{"kangyang", "batch-indices", map[string]string{"method": "KVService.ProcessBatch", "ops": "Operations", "kind": "IsRead", "indices": "Indices", "results": "Values"}},
	{"gianghta", "gets-requests", map[string]string{"get": "KVService.BatchGet", "get-ops": "Requests", "results": "Responses.Value"}},
	{"haoren", "gets-puts", map[string]string{"get": "KVService.GetBatch", "put": "KVService.PutBatch", "get-ops": "Keys", "put-ops": "Items", "results": "Values.Value"}},
	{"venkateshdb", "batch-timestamp", map[string]string{"method": "KVService.BatchRequest", "ops": "Requests", "kind": "IsRead", "stamp": "Timestamp", "results": "Responses.Value"}},

	// Those of transactions. A server may fit several: the first is the best.
	{"sharjain-txn", "txn-twice", map[string]string{"tx": "TxnID", "twice": "Commit", "kind": "IsRead", "refused": "Vote=false"}},
	{"kangyang-txn", "txn-vote", map[string]string{"begin": "KVService.Begin", "get": "KVService.TxnGet", "put": "KVService.TxnPut", "prepare": "KVService.Prepare", "commit": "KVService.GlobalCommit", "abort": "KVService.GlobalAbort",
		"tx": "TxnId", "made": "server", "lead": "Lead", "refused": "get:Found=false,prepare:Vote=false"}},
	{"raja-woundwait", "txn-begin-prepare", map[string]string{"begin": "KVService.Begin", "prepare": "KVService.Prepare", "scope": "all", "tx": "TxID.Hi,TxID.Lo", "lead": "Flag", "refused": "Status!=0,prepare:Status!=0,error:TXN_ABORTED,error:TXN_NOT_FOUND"}},
	{"raja-txn", "txn-begin-status", map[string]string{"begin": "KVService.Begin", "scope": "all", "tx": "TxID.Hi,TxID.Lo", "lead": "Flag", "refused": "Status!=0,error:LOCK_DENIED,error:TXN_ABORTED,error:TXN_NOT_FOUND"}},
	{"raja-turnin", "txn-denied", map[string]string{"tx": "TxID.Hi,TxID.Lo", "lead": "Flag", "refused": "error:LOCK_DENIED"}},
	{"sacatrash-txn", "txn-nested", map[string]string{"begin": "KVService.TxBegin", "get": "KVService.TxGet", "put": "KVService.TxPut", "commit": "KVService.TxCommit", "abort": "KVService.TxAbort", "scope": "all", "tx": "Tx", "lead": "Lead", "key": "GetRequest.Key,PutRequest.Key", "value": "PutRequest.Value", "results": "GetResponse.Value",
		"refused": "begin:Response.Error!=,get:GetResponse.Response.Error!=,put:PutResponse.Response.Error!=,commit:Response.Error!="}},
	{"citywatch-txn", "txn-operation", map[string]string{"begin": "KVService.Begin", "method": "KVService.Process_Operation", "scope": "all", "tx": "TransactionID", "lead": "Lead", "key": "Op.Key", "value": "Op.Value", "kind": "Op.IsRead", "update": "Op.ForUpdate", "refused": "Success=false"}},
	{"dashree-txn", "txn-ack", map[string]string{"tx": "TransactionId", "client": "ClientId", "lead": "Lead", "refused": "Ack=false,commit:Ack=false"}},
	{"shafin-txn", "txn-lockfail", map[string]string{"tx": "TransactionID", "lead": "Lead", "refused": "LockFail=true,commit:Success=false"}},
	{"venkateshdb-txn", "txn-lockfailed", map[string]string{"tx": "Txid", "lead": "Lead", "refused": "LockFailed=true,commit:Success=false"}},
	{"mrchildren-txn", "txn-error", map[string]string{"tx": "Txid", "lead": "Lead", "refused": "error:Cannot acquire"}},
}

// findPreset returns the settings of a preset by one of its names.
func findPreset(name string) (map[string]string, error) {
	var names []string
	for _, p := range presets {
		if names = append(names, p.name, p.carries); slices.Contains(names, name) {
			return p.settings, nil
		}
	}
	return nil, fmt.Errorf("preset %q: want one of %s%s", name, strings.Join(names, ", "), cli.DidYouMean(name, "", names))
}
