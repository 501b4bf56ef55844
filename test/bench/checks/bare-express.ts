// The benchmarks compare the gateway with this Express 5 server, which parses a JSON body and
// answers 202.
import { randomUUID } from 'node:crypto';
import type { AddressInfo } from 'node:net';
import express from 'express';

const app = express();
app.use(express.json());
app.post('/access-control/check-roles', (request, response) => {
  const isCheck = Array.isArray((request.body as { rules?: unknown }).rules);
  response.status(isCheck ? 202 : 422).json({ requestId: randomUUID() });
});
const server = app.listen(0, '127.0.0.1', () => process.send?.((server.address() as AddressInfo).port));
// The server exits with the benchmark, however that ends.
process.on('disconnect', () => process.exit());
