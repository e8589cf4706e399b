package etcd

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"

	"kvlab/metrics"
)

// Counts reads a server's counters from its page for Prometheus. They begin at 0 when it
// starts. An operation of a txn counts as one of its own, and a read-modify-write as a get
// and a put. Hits and misses are not counted.
func (d *client) Counts(ctx context.Context, server int) (metrics.StoreCounts, error) {
	url := fmt.Sprintf("http://%s/metrics", d.options.Hosts[server])
	if d.options.Settings["tls"] == "on" {
		url = strings.Replace(url, "http", "https", 1)
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return metrics.StoreCounts{}, err
	}
	response, err := d.http.Do(request)
	if err != nil {
		return metrics.StoreCounts{}, err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return metrics.StoreCounts{}, fmt.Errorf("%s: %s", url, response.Status)
	}
	counts, err := readCounts(io.LimitReader(response.Body, maxPage))
	if err != nil {
		err = fmt.Errorf("%s: %w", url, err)
	}
	return counts, err
}

const maxPage = 16 << 20 // bytes; etcd's has some 200 KB

// fixed are the counters that no valid run moves.
var fixed = map[string]bool{"etcd_server_proposals_failed_total": true, "etcd_server_leader_changes_seen_total": true}

// harmless are the methods that change neither a key nor what the run's transactions do: Range
// counts as a Get.
var harmless = map[string]bool{"MemberList": true, "Range": true, "Authenticate": true, "Status": true, "Hash": true, "HashKV": true, "Watch": true,
	"Compact": true, "Defragment": true, "Snapshot": true, "LeaseGrant": true, "LeaseKeepAlive": true, "AuthStatus": true, "LeaseLeases": true, "LeaseTimeToLive": true, "UserList": true, "UserGet": true, "RoleList": true, "RoleGet": true, "Check": true}

// readCounts reads the lines "name{label="value",...} number".
func readCounts(page io.Reader) (metrics.StoreCounts, error) {
	c := metrics.StoreCounts{RMWGets: true, Fixed: make(map[string]uint64), Others: make(map[string]uint64), Beside: make(map[string]uint64), Settings: map[string]string{metrics.Durability: metrics.EachAnswer}}
	lines, seen, led, peers := bufio.NewScanner(page), 0, false, uint64(0)
	for lines.Scan() {
		text, number, _ := strings.Cut(lines.Text(), " ")
		name, labels, _ := strings.Cut(text, "{")
		value, err := strconv.ParseFloat(number, 64) // exact up to 2^53
		if err != nil || strings.HasPrefix(name, "#") {
			continue
		}
		n := uint64(value)
		switch name {
		case "etcd_server_has_leader":
			led = n == 1
		case "etcd_mvcc_range_total":
			c.Counts.Gets = n
			seen++
		case "etcd_mvcc_put_total":
			c.Counts.Puts = n
			seen++
		case "etcd_mvcc_delete_total":
			c.Counts.Deletes = n
			seen++
		case "etcd_debugging_mvcc_keys_total":
			c.Records = n
		case "etcd_server_quota_backend_bytes":
			c.Settings["quota-backend-bytes"] = strconv.FormatUint(n, 10)
		case "etcd_network_active_peers": // a line for each
			peers++
		case "etcd_server_version":
			c.Version = label(labels, "server_version")
		case "process_start_time_seconds":
			c.Instance = number
		case "grpc_server_handled_total":
			switch method := label(labels, "grpc_method"); {
			case method == "Txn":
			case harmless[method]:
				c.Beside[method] += n
			default:
				c.Others[method] += n
			}
		default:
			if fixed[name] {
				c.Fixed[name] = n
			}
		}
	}
	c.Settings[metrics.Replicas] = strconv.FormatUint(peers, 10)
	err := lines.Err()
	switch {
	case err != nil:
	case seen != 3:
		err = errors.New("it lacks etcd's counters of ranges, puts or deletes: want etcd 3.4 or later")
	case !led:
		err = errors.New("the etcd has no leader")
	}
	return c, err
}

// label returns a label's value, from the text name="value",...}.
func label(labels, name string) string {
	_, rest, _ := strings.Cut(labels, name+`="`)
	value, _, _ := strings.Cut(rest, `"`)
	return value
}
