package connection

import (
	"bufio"
	"io"
	"net"
	"net/http"
	"testing"
)

var request = []byte("POST /key HTTP/1.1\r\nHost: localhost\r\nContent-Length: 0\r\n\r\n")

func listen(t *testing.T) net.Listener {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { listener.Close() })
	return listener
}

// A server may close a connection after any answer, and need not say so.
func TestAClosedConnectionIsOpenedAgain(t *testing.T) {
	listener := listen(t)
	go func() {
		for {
			connection, err := listener.Accept()
			if err != nil {
				return
			}
			if _, err := http.ReadRequest(bufio.NewReader(connection)); err == nil {
				connection.Write([]byte("HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\n1.5"))
			}
			connection.Close()
		}
	}()
	connection, err := Open("tcp", listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer connection.Close()
	for range 3 {
		answer, err := connection.Ask(request)
		if err != nil {
			t.Fatal(err)
		}
		if body, err := io.ReadAll(answer.Body); err != nil || string(body) != "1.5" {
			t.Fatal(string(body), err)
		}
	}
}

// A server that has ended makes an error, and the connection can be closed all the same.
func TestAServerThatHasEndedIsAnError(t *testing.T) {
	listener := listen(t)
	connection, err := Open("tcp", listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer connection.Close()
	there, err := listener.Accept()
	if err != nil {
		t.Fatal(err)
	}
	listener.Close()
	there.Close()
	if _, err := connection.Ask(request); err == nil {
		t.Fatal("an answer of nobody")
	}
}
