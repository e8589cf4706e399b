package etcd

import (
	"context"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"
)

// login is the token of a connection's user; "" is none. Every call of the connection has it.
type login struct{ token string }

// begin logs in, if the settings have a password, before the connection has other calls.
func (l *login) begin(ctx context.Context, conn *grpc.ClientConn, settings map[string]string) error {
	if settings["password"] == "" {
		return nil
	}
	answer, err := pb.NewAuthClient(conn).Authenticate(ctx, &pb.AuthenticateRequest{Name: settings["user"], Password: settings["password"]})
	l.token = answer.GetToken()
	return err
}

func (l *login) intercept(ctx context.Context, method string, request, reply any, conn *grpc.ClientConn, call grpc.UnaryInvoker, options ...grpc.CallOption) error {
	if l.token != "" {
		ctx = metadata.AppendToOutgoingContext(ctx, "token", l.token)
	}
	return call(ctx, method, request, reply, conn, options...)
}
