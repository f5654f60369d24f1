// Adds the token to every request: the conformance suite knows of none.
import http from 'node:http';
const [, , target, token] = process.argv;
const server = http.createServer((request, response) => {
  const headers = { ...request.headers, authorization: `Bearer ${token}` };
  const options = { host: '127.0.0.1', port: target, method: request.method, path: request.url, headers };
  const above = http.request(options, (answer) => {
    response.writeHead(answer.statusCode, answer.headers);
    answer.pipe(response);
  });
  above.on('error', () => response.destroy());
  response.on('close', () => above.destroy());
  request.pipe(above);
});
server.listen(0, '127.0.0.1', () => console.log(server.address().port));
