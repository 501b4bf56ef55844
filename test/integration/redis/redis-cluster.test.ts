import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { loadToolchain } from '../../../deploy/local/infrastructure/toolchain.ts';
import { spawnChild } from '../../../deploy/local/processes/child.ts';
import { findFreePorts } from '../../../deploy/local/settings/ports.ts';
import { connectTestRedis, testConfig } from '../../support/infrastructure/connections.ts';

// Scenario: a Redis Cluster of one node, started for this file from the machine's own program.

test('a Redis Cluster is refused by name at the start', async () => {
  const dir = mkdtempSync(join(tmpdir(), 'rolecall-cluster-'));
  const [port = 0, busPort = 0] = await findFreePorts(2);
  // By default the bus has the port plus 10 000, where the system may have put a connection.
  const bus = { 'cluster-enabled': 'yes', 'cluster-port': busPort };
  const settings = { port, bind: '127.0.0.1', ...bus, save: '', dir };
  const args = Object.entries(settings).flatMap(([name, value]) => [`--${name}`, `${value}`]);
  const cluster = await spawnChild(loadToolchain().redis, args, { argv0: 'redis-server', stdio: 'ignore' });
  try {
    const config = testConfig(0);
    const connecting = connectTestRedis({
      ...config,
      redis: { url: `redis://127.0.0.1:${port}` },
    });
    await expect(connecting).rejects.toMatchObject({
      code: 'config-invalid',
      message: expect.stringContaining('Redis Cluster'),
    });
  } finally {
    await cluster.kill9();
    rmSync(dir, { recursive: true, force: true });
  }
});
