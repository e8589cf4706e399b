package main

import (
	"flag"
	"log"
	"net"
	"net/http"
	"net/rpc"
	"sync"
)

type KVService struct {
	mu   sync.Mutex
	data map[string]string
}

func (s *KVService) Get(q *struct{ Key string }, p *struct{ Value string }) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	p.Value = s.data[q.Key]
	return nil
}

func (s *KVService) Put(q *struct{ Key, Value string }, _ *struct{}) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.data[q.Key] = q.Value
	return nil
}

func main() {
	port := flag.String("port", "8080", "to listen on")
	flag.Parse()
	if err := rpc.Register(&KVService{data: make(map[string]string)}); err != nil {
		log.Fatal(err)
	}
	rpc.HandleHTTP()
	l, err := net.Listen("tcp", net.JoinHostPort("127.0.0.1", *port))
	if err != nil {
		log.Fatal(err)
	}
	log.Fatal(http.Serve(l, nil))
}
