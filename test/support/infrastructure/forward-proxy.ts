import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { loadToolchain } from '../../../deploy/local/infrastructure/toolchain.ts';
import { spawnProgram } from '../systems/spawn-process.ts';
import { waitUntil } from '../wait-until.ts';

const EXAMPLES = 'test/e2e/examples';
const nginxConfig = (dir: string, server: string): string => `
daemon off;
master_process off;
pid ${join(dir, 'pid')};
error_log stderr;
events {}
http {
access_log off;
${['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map((name) => `${name}_temp_path ${join(dir, name)};`).join('\n')}
${server}
}`;
const caddyConfig = (_dir: string, site: string): string => `{
	admin off
	auto_https off
}
${site}`;

/** The proxies that ask a server about every request, each with an example of its configuration. */
const PROXIES = {
  nginx: {
    example: `${EXAMPLES}/forward-auth.nginx.conf`,
    configOf: nginxConfig,
    argsOf: (dir: string, config: string) => ['-p', dir, '-c', config, '-e', 'stderr'],
  },
  caddy: {
    example: `${EXAMPLES}/forward-auth.Caddyfile`,
    configOf: caddyConfig,
    argsOf: (_dir: string, config: string) => ['run', '--config', config, '--adapter', 'caddyfile'],
  },
} as const;
export type ForwardProxy = keyof typeof PROXIES;

/**
 * Runs tests that need a proxy. On a machine that has none and cannot fetch it (no apt) the tests are
 * skipped, but in CI the missing program is a failure.
 */
export const testWithProxy = (name: ForwardProxy): jest.It =>
  loadToolchain()[name] || process.env['CI'] ? test : (test.skip as jest.It);

/**
 * Starts a proxy by its example.
 *
 * @param url where it listens, with the path `/sign-in`
 * @param replacements texts of the example, such as its addresses
 */
export async function startForwardProxy(
  name: ForwardProxy,
  url: string,
  replacements: Readonly<Record<string, string>>,
): Promise<AsyncDisposable> {
  const program = loadToolchain()[name];
  if (!program) throw new Error(`${name} is not installed: node deploy/local/setup.mjs --with-packages`);
  const { example, configOf, argsOf } = PROXIES[name];
  const dir = mkdtempSync(join(tmpdir(), `rolecall-${name}-`));
  const filled = readFileSync(example, 'utf8').replace(
    new RegExp(Object.keys(replacements).join('|'), 'g'),
    (text) => replacements[text] ?? text,
  );
  const config = join(dir, 'config');
  writeFileSync(config, configOf(dir, filled));
  const child = spawnProgram(program.server, argsOf(dir, config), {
    XDG_DATA_HOME: dir,
    XDG_CONFIG_HOME: dir,
  });
  await waitUntil(`${name} to answer`, async () => {
    if (child.child.exitCode !== null) {
      // Only then all that it printed was read.
      await child.exited;
      throw new Error(`${name} ended: ${child.stderr()}`);
    }
    return fetch(`${url}/sign-in`, { redirect: 'manual' }).then(
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
