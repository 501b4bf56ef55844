import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { loadToolchain } from '../../../deploy/local/infrastructure/toolchain.ts';
import { spawnProgram } from '../systems/spawn-process.ts';
import { waitUntil } from '../wait-until.ts';

/**
 * Runs tests that need nginx. On a machine that has none and cannot fetch it (no apt) the tests are
 * skipped, but in CI the missing program is a failure.
 */
export const describeWithNginx: jest.Describe =
  loadToolchain().nginx || process.env['CI'] ? describe : (describe.skip as jest.Describe);

/**
 * Starts nginx with the `server` of a file.
 *
 * @param replacements texts of the file, such as its addresses
 * @example
 * await using nginx = await startNginx('test/e2e/examples/forward-auth.nginx.conf', { '127.0.0.1:8088': '127.0.0.1:4711' });
 */
export async function startNginx(
  file: string,
  replacements: Readonly<Record<string, string>>,
): Promise<AsyncDisposable> {
  const { nginx } = loadToolchain();
  if (!nginx) throw new Error('nginx is not installed: node deploy/local/setup.mjs --with-packages');
  const dir = mkdtempSync(join(tmpdir(), 'rolecall-nginx-'));
  const server = Object.entries(replacements).reduce(
    (text, [from, to]) => text.replaceAll(from, to),
    readFileSync(file, 'utf8'),
  );
  const paths = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map(
    (name) => `${name}_temp_path ${join(dir, name)};`,
  );
  const config = `
daemon off;
master_process off;
pid ${join(dir, 'pid')};
error_log stderr;
events {}
http {
access_log off;
${paths.join('\n')}
${server}
}`;
  writeFileSync(join(dir, 'nginx.conf'), config);
  const child = spawnProgram(nginx.server, ['-p', dir, '-c', join(dir, 'nginx.conf'), '-e', 'stderr']);
  const [, address = ''] = /listen ([^;]+);/.exec(server) ?? [];
  await waitUntil('nginx to answer', async () => {
    if (child.child.exitCode !== null) throw new Error(`nginx ended: ${child.stderr()}`);
    return fetch(`http://${address}/sign-in`, { redirect: 'manual' }).then(
      (response) => response.text().then(() => true),
      () => false,
    );
  });
  return {
    async [Symbol.asyncDispose]() {
      await child[Symbol.asyncDispose]();
      rmSync(dir, { recursive: true, force: true });
    },
  };
}
