import { Agent, request } from 'node:http';
import { cpuMsSince } from '../system/cpu-seconds.ts';

// A child process of the webhook benchmark: a bare loop for comparison with the deliveries. It
// posts the same body over kept-alive connections, does nothing else, and reports its own CPU time.

const [countText = '1000', warmUpText = '0', body = '{}', ...urls] = process.argv.slice(2);
const CONCURRENCY = 64;
const agent = new Agent({ keepAlive: true, maxSockets: 8 });
let left = 0;

const post = (url: string) =>
  new Promise<void>((resolve, reject) => {
    const headers = { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) };
    const sent = request(url, { method: 'POST', agent, headers }, (response) => {
      response.resume();
      response.on('end', resolve);
    });
    sent.on('error', reject);
    sent.end(body);
  });

const work = async () => {
  while (left > 0) {
    left -= 1;
    await post(urls[left % urls.length] ?? '');
  }
};

const run = async (count: number) => {
  left = count;
  await Promise.all(Array.from({ length: CONCURRENCY }, work));
};

await run(Number(warmUpText));
const before = process.cpuUsage();
await run(Number(countText));
process.stdout.write(`${JSON.stringify({ cpuSeconds: cpuMsSince(before) / 1_000 })}\n`);
agent.destroy();
