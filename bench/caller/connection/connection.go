// Package connection is an HTTP connection that is kept, written to and read by who asks, as pgx does.
//
// The standard library's client hands each request to goroutines of its connection and back, which every system
// behind HTTP would be charged for, and none that speaks PostgreSQL's protocol.
package connection

import (
	"bufio"
	"net"
	"net/http"
)

// Connection leads to one server; one request is on its way at a time.
type Connection struct {
	network, address string
	connection       net.Conn
	reader           *bufio.Reader
}

// Open connects; the network is "tcp" or "unix".
func Open(network, address string) (*Connection, error) {
	made := &Connection{network: network, address: address}
	return made, made.dial()
}

// Who fails to connect again keeps the closed connection, which may be closed once more.
func (c *Connection) dial() error {
	connection, err := net.Dial(c.network, c.address)
	if err == nil {
		c.connection, c.reader = connection, bufio.NewReader(connection)
	}
	return err
}

// Close ends it.
func (c *Connection) Close() error { return c.connection.Close() }

// Ask sends a whole request. The body of the answer is to be read before the next.
func (c *Connection) Ask(request []byte) (*http.Response, error) {
	if err := c.exchange(request); err != nil {
		// A server closes connections now and then, as it may: with no byte of an answer the request stands.
		c.connection.Close()
		if err := c.dial(); err != nil {
			return nil, err
		}
		if err := c.exchange(request); err != nil {
			return nil, err
		}
	}
	return http.ReadResponse(c.reader, nil)
}

// Exchange sends the request, and waits for the first byte of an answer.
func (c *Connection) exchange(request []byte) error {
	if _, err := c.connection.Write(request); err != nil {
		return err
	}
	_, err := c.reader.Peek(1)
	return err
}
