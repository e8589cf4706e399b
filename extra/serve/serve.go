// Package serve shows a folder of runs to a browser on the same machine: the list of runs,
// their files, the run under way as it is each second, and its metrics.
//
// Nobody else may ask: it listens on a loopback address, and refuses a Host that is none,
// which a foreign page reaches by changing what its name resolves to (DNS rebinding). It
// answers GET alone, and reads no file outside of the folder.
package serve

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"os"
	"path"
	"path/filepath"
	"slices"
	"time"

	"kvlab/extra/serve/index"
	"kvlab/plots/table"
)

//go:embed live.js
var script []byte

// Listen listens on an address of this machine alone, such as 127.0.0.1:7070.
func Listen(addr string) (net.Listener, error) {
	host, _, err := net.SplitHostPort(addr)
	if err == nil && !isLoopback(host) {
		err = errors.New("not a loopback address")
	}
	if err != nil {
		return nil, fmt.Errorf("%w: want 127.0.0.1:PORT, localhost:PORT or [::1]:PORT", err)
	}
	return net.Listen("tcp", addr)
}

func isLoopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

// Serve answers requests on l about the runs in dir until ctx ends. It then ends the live
// pages' streams and waits for other answers.
func Serve(ctx context.Context, l net.Listener, dir string) error {
	handler, err := Handler(dir)
	if err != nil {
		return errors.Join(err, l.Close())
	}
	const patience = 10 * time.Second
	server := http.Server{Handler: handler, ReadHeaderTimeout: patience, IdleTimeout: time.Minute, MaxHeaderBytes: 16 << 10,
		BaseContext: func(net.Listener) context.Context { return ctx }}
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(l) }()
	select {
	case err := <-ended:
		return err
	case <-ctx.Done():
	}
	limited, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	return server.Shutdown(limited)
}

// Handler serves the runs in dir.
func Handler(dir string) (http.Handler, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	s := site{dir: dir, files: http.FileServerFS(inside{root.FS()})}
	mux := http.NewServeMux()
	mux.HandleFunc("/{$}", s.list)
	mux.HandleFunc("/live.js", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/javascript; charset=utf-8")
		_, _ = w.Write(script)
	})
	mux.HandleFunc("/live", s.live)
	mux.HandleFunc("/metrics", s.metrics)
	mux.HandleFunc("/", s.file)
	return guarded(mux), nil
}

// site is what a Handler serves.
type site struct {
	dir   string
	files http.Handler
}

// guarded refuses what no page of ours asks.
func guarded(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		host := r.Host
		if name, _, err := net.SplitHostPort(host); err == nil {
			host = name
		}
		h := w.Header()
		h.Set("Cache-Control", "no-store")
		h.Set("Cross-Origin-Resource-Policy", "same-origin")
		h.Set("Referrer-Policy", "no-referrer")
		h.Set("X-Content-Type-Options", "nosniff")
		switch {
		case !isLoopback(host) && host != "[::1]":
			http.Error(w, "the Host is no loopback address", http.StatusMisdirectedRequest)
		case r.Method != http.MethodGet:
			h.Set("Allow", http.MethodGet)
			http.Error(w, "GET alone is answered", http.StatusMethodNotAllowed)
		default:
			next.ServeHTTP(w, r)
		}
	})
}

// list serves the page of all runs.
func (s site) list(w http.ResponseWriter, _ *http.Request) {
	page, err := index.Page(s.dir, true)
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.Header().Set("Content-Security-Policy", "default-src 'self'; style-src 'self' 'unsafe-inline'; frame-ancestors 'none'")
	_, _ = w.Write(page)
}

// file serves a file of a run, or the list of a folder's files. A page among them runs no
// script and loads nothing.
func (s site) file(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Security-Policy", "sandbox; default-src 'none'; style-src 'unsafe-inline'; img-src 'self' data:; frame-ancestors 'self'")
	if ext := path.Ext(r.URL.Path); ext != "" && !slices.Contains([]string{".html", ".svg", ".png", ".pdf", ".json"}, ext) {
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	}
	s.files.ServeHTTP(w, r)
}

// inside refuses a link that leads out of the folder, in the words of HTTP.
type inside struct{ fs.FS }

// Open opens a file of the folder.
func (f inside) Open(name string) (fs.File, error) {
	file, err := f.FS.Open(name)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		err = fs.ErrPermission
	}
	return file, err
}

// metrics serves the metrics of the newest run as OpenMetrics text.
func (s site) metrics(w http.ResponseWriter, _ *http.Request) {
	var result, seconds table.Table
	now, err := newest(s.dir)
	if err == nil {
		result, seconds, err = tablesOf(filepath.Join(s.dir, now.Run), now.Run)
	}
	if err != nil {
		http.Error(w, err.Error(), http.StatusServiceUnavailable)
		return
	}
	w.Header().Set("Content-Type", "application/openmetrics-text; version=1.0.0; charset=utf-8")
	_ = writeOpenMetrics(w, result, seconds)
}
