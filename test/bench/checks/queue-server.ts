import { randomUUID } from 'node:crypto';
import type { AddressInfo } from 'node:net';
import { Queue } from 'bullmq';
import express from 'express';

// The alternative to Rolecall as people build it, with `queue-worker.ts`: an Express 5 server that
// puts each check into a BullMQ queue and answers 202. It validates nothing and has no limits.

const [redisPort = '', apiKey = ''] = process.argv.slice(2);
const queue = new Queue('checks', {
  connection: { host: '127.0.0.1', port: Number(redisPort) },
  defaultJobOptions: {
    attempts: 3,
    backoff: { type: 'exponential', delay: 1_000 },
    removeOnComplete: { age: 3_600 },
  },
});

const app = express();
app.use(express.json({ limit: '256kb' }));
app.use((request, response, next) => {
  if (request.get('x-api-key') === apiKey) next();
  else response.status(401).json({ code: 'api-key-invalid' });
});
app.post('/access-control/check-roles', async ({ body }, response) => {
  const requestId = randomUUID();
  await queue.add('check', body, { jobId: requestId });
  response.status(202).json({ requestId });
});
app.get('/access-control/check-roles/responses/:requestId', async ({ params }, response) => {
  const job = await queue.getJob(params.requestId);
  if (job === undefined) response.status(404).json({ code: 'request-not-found' });
  else if (await job.isCompleted()) response.json(job.returnvalue);
  else response.status(202).json({ requestId: params.requestId, status: 'pending' });
});
const server = app.listen(0, '127.0.0.1', () => process.send?.((server.address() as AddressInfo).port));
// The server exits with the benchmark, however that ends.
process.on('disconnect', () => process.exit());
