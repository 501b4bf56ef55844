import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { stringify } from 'yaml';
import { loadToolchain } from '../../../deploy/local/infrastructure/toolchain.ts';
import { findFreePorts } from '../../../deploy/local/settings/ports.ts';
import { spawnProgram } from '../systems/spawn-process.ts';
import { waitUntil } from '../wait-until.ts';

/**
 * Runs tests that need Prometheus. On a machine that has none and cannot install it (no apt) the
 * tests are skipped, but in CI the missing program is a failure.
 */
export const describeWithPrometheus: jest.Describe = (() => {
  const { prometheus } = loadToolchain();
  if (prometheus || process.env['CI']) return describe;
  return describe.skip as jest.Describe;
})();

function programs() {
  const { prometheus } = loadToolchain();
  if (!prometheus)
    throw new Error('Prometheus is not installed: node deploy/local/setup.mjs --with-packages');
  return prometheus;
}

/** Runs promtool to its end. */
export async function promtool(
  ...args: readonly string[]
): Promise<{ exitCode: number | string; output: string }> {
  await using tool = spawnProgram(programs().tool, args);
  const exitCode = await tool.exited;
  return { exitCode, output: tool.stdout() + tool.stderr() };
}

type Target = { readonly service: string /** `host:port` */; readonly address: string };
export type Sample = { readonly metric: Readonly<Record<string, string>>; readonly value: [number, string] };
export type Alert = {
  readonly labels: Readonly<Record<string, string>>;
  readonly annotations: Readonly<Record<string, string>>;
  readonly state: 'pending' | 'firing';
};

export type Prometheus = AsyncDisposable & {
  readonly url: string;
  /** An instant query. @throws Error with the server's message */
  readonly query: (expr: string) => Promise<Sample[]>;
  /** The alerts that are pending or firing. */
  readonly alerts: () => Promise<Alert[]>;
};

/**
 * Starts a Prometheus that scrapes the targets and evaluates the rules once a second.
 *
 * @example
 * await using prometheus = await startPrometheus({ targets, rules: [text] });
 * await prometheus.query('up');
 */
export async function startPrometheus(options: {
  readonly targets: readonly Target[];
  /** The texts of rule files. */
  readonly rules: readonly string[];
}): Promise<Prometheus> {
  const dir = mkdtempSync(join(tmpdir(), 'rolecall-prometheus-'));
  const [port = 0] = await findFreePorts(1);
  const rule_files = options.rules.map((text, index) => {
    const file = join(dir, `rules-${index}.yml`);
    writeFileSync(file, text);
    return file;
  });
  const static_configs = options.targets.map(({ service, address }) => ({
    targets: [address],
    labels: { service },
  }));
  const config = {
    global: {
      scrape_interval: '1s',
      scrape_timeout: '1s',
      evaluation_interval: '1s',
      external_labels: { runbook: 'http://runbook.example/' },
    },
    rule_files,
    scrape_configs: [{ job_name: 'rolecall', honor_labels: true, static_configs }],
  };
  writeFileSync(join(dir, 'prometheus.yml'), stringify(config));
  const server = spawnProgram(programs().server, [
    `--config.file=${join(dir, 'prometheus.yml')}`,
    `--storage.tsdb.path=${join(dir, 'data')}`,
    `--web.listen-address=127.0.0.1:${port}`,
  ]);
  const url = `http://127.0.0.1:${port}`;
  const ask = async <T>(path: string): Promise<T> => {
    const response = await fetch(`${url}/api/v1/${path}`);
    const answer = (await response.json()) as { status: string; error?: string; data: T };
    if (answer.status !== 'success') throw new Error(`${path}: ${answer.error}`);
    return answer.data;
  };
  const end = async () => {
    await server[Symbol.asyncDispose]();
    rmSync(dir, { recursive: true, force: true });
  };
  await waitUntil('Prometheus', async () => {
    if (server.child.exitCode !== null) throw new Error(`Prometheus ended: ${server.stderr().slice(-2_000)}`);
    return fetch(`${url}/-/ready`).then(
      ({ ok }) => ok,
      () => false,
    );
  }).catch(async (error: unknown) => {
    await end();
    throw error;
  });
  return {
    url,
    query: async (expr) =>
      (await ask<{ result: Sample[] }>(`query?query=${encodeURIComponent(expr)}`)).result,
    alerts: async () => (await ask<{ alerts: Alert[] }>('alerts')).alerts,
    [Symbol.asyncDispose]: end,
  };
}
