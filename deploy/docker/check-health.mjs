// The health check of every container: exit 0 if the process says that it is ready. No package, no
// TypeScript: it runs every few seconds.
import { get } from 'node:http';

const TIMEOUT_MS = 4_000;
const url = `http://127.0.0.1:${process.env['OPS_PORT'] ?? 9090}/readyz`;

const request = get(url, { timeout: TIMEOUT_MS }, (response) =>
  process.exit(response.statusCode === 200 ? 0 : 1),
);
request.on('timeout', () => process.exit(1));
request.on('error', () => process.exit(1));
