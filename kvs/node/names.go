package node

// Theirs maps the flags and properties of other benchmarks, and of the course's clients, to
// what says the same in kvlab: a flag, or why none is necessary. They are the labs'; those of
// memtier_benchmark 2, redis-benchmark and valkey-benchmark 8; YCSB's and go-ycsb's. A name
// that kvlab has itself is not in it.
var Theirs = map[string]string{
	"numClients": "-workers", "host_generators": "-workers", "thrds-per-host": "-workers",
	"generators": "-workers", "threads": "-workers", "numWorker": "-workers", "threadcount": "-workers",
	"batchSize": "-batch", "batch_size": "-batch", "batch-size": "-batch", "reqBatchsize": "-batch",
	"batchTimeout": "-batch (rounds need no timeout)", "clientid": "-client", "clientID": "-client",
	"numKeys": "-records", "num-keys": "-records", "recordcount": "-records", "recordSize": "-value-size", "valueSize": "-value-size",
	"qps": "-rate", "throughput": "-rate", "rps": "-rate",
	"rate-limiting": "-rate, for all connections of all clients together",
	"batchBytes":    "-batch-bytes", "batch_bytes": "-batch-bytes",
	"duration": "-secs", "time": "-secs", "seconds": "-secs", "test-time": "-secs", "maxexecutiontime": "-secs",
	"s": "-target redis://HOST:PORT", "host": "-target redis://HOST:PORT", "h": "-target redis://HOST:PORT",
	"a": "-target redis://USER:PASSWORD@HOST:PORT", "user": "-target redis://USER:PASSWORD@HOST:PORT",
	"authenticate": "-target redis://USER:PASSWORD@HOST:PORT", "protocol": "-target memcached://HOST:PORT",
	"cluster": "-target redis-cluster://HOST:PORT", "cluster-mode": "-target redis-cluster://HOST:PORT",
	"c": "-workers, for all connections of all threads", "t": "-workers, for all connections of all threads",
	"pipeline": "-batch", "multi-key-get": "-batch", "operationcount": "-ops, of all clients together", "n": "-ops, of all clients together", "requests": "-ops, of all clients together",
	"ratio": "-workload mix -reads SHARE", "key-pattern": "-distribution", "key-zipf-exp": "-theta",
	"requestdistribution": "-distribution", "readproportion": "-reads, with -workload mix",
	"key-minimum": "-records", "key-maximum": "-records", "r": "-records", "keyspacelen": "-records",
	"d": "-value-size", "data-size": "-value-size", "data-size-range": "-value-size LEAST-MOST", "fieldlength": "-value-size",
	"data-verify": "-verify: every reply is checked, unless it says less", "R": "-value-size: the bytes are random",
	"random-data": "-value-size: the bytes are random", "data-size-list": "-value-size LEAST-MOST, or etc",
	"expiry-range":  "-ttl 60s, the same for every key",
	"trace":         "-exec-trace for an execution trace of the program, or -replay for a trace of operations",
	"clients-start": "-rate in stages, such as 50k@10s,100k@10s, or --curve", "clients-step": "-rate in stages, such as 50k@10s,100k@10s, or --curve",
	"step-duration": "-rate in stages, such as 50k@10s,100k@10s", "start-qps": "-rate with a ramp, such as 50k..400k@30s", "end-qps": "-rate with a ramp, such as 50k..400k@30s", "x": "--trials", "run-count": "--trials",
	"json-out-file": "kvsplot export: any run folder as CSV or JSON", "hdr-file-prefix": "latency.hlog, which every run folder has",
}
