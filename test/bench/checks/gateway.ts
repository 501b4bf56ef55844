import { fork, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { checkRequestedBulk } from '#shared/contracts/checks/check-requested.ts';
import { CHECK_PATH as PATH } from '#shared/contracts/paths.ts';
import { makeClientApps } from '#shared/stores/apps/client-apps.ts';
import { EVENT_LOOP_SAMPLING_MS } from '#shared/telemetry/metrics.ts';
import { countRecords } from '../../support/infrastructure/topic-work.ts';
import {
  makeTestApp,
  type RunningGateway,
  startGateway,
  type TestApp,
} from '../../support/systems/start-gateway.ts';
import { cpuSecondsOf } from '../system/cpu-seconds.ts';
import { startStores } from '../system/start-stores.ts';
import type { Row, Table } from '../table.ts';

const AUTOCANNON = fileURLToPath(new URL('../../../node_modules/autocannon/autocannon.js', import.meta.url));
const CONNECTIONS = 64;
const WARM_UP_SECONDS = 2;
const SECONDS = 6;
const APPS = 1_000;
/** The share of the highest rate at which latency is measured. */
const LOAD_SHARE = 0.7;
type Load = {
  readonly url: string;
  readonly rules: number;
  readonly apps: readonly TestApp[];
  readonly rate?: number;
};
type Shot = { readonly accepted: number; readonly perSecond: number; readonly p99Ms: number };

const bodyOf = (rules: number): string =>
  JSON.stringify({
    account: '0x52908400098527886E0F7030069857D2E4169EE7',
    async: true,
    rules: Array.from({ length: rules }, (_, index) => ({
      type: 'ERC20',
      chainId: 31337,
      contractAddress: `0x${(index + 1).toString(16).padStart(40, '0')}`,
      roleId: `role-${index}`,
      minToken: '10.5',
    })),
  });

/** The requests as an HTTP archive: autocannon's command line needs one to send with many keys in
 * turn. */
const archiveOf = ({ url, rules, apps }: Load): string =>
  JSON.stringify({
    log: {
      entries: apps.map(({ apiKey }) => ({
        request: {
          method: 'POST',
          url: url + PATH,
          headers: [
            { name: 'content-type', value: 'application/json' },
            { name: 'x-api-key', value: apiKey },
          ],
          postData: { mimeType: 'application/json', text: bodyOf(rules) },
        },
      })),
    },
  });

/** Sends as fast as 64 connections can, or at a fixed rate, from a separate process. */
async function shoot(dir: string, load: Load, seconds: number): Promise<Shot> {
  const har = join(dir, 'requests.har');
  writeFileSync(har, archiveOf(load));
  const rate = load.rate === undefined ? [] : ['-R', String(Math.round(load.rate))];
  const args = [
    AUTOCANNON,
    '-j',
    '-n',
    '-c',
    String(CONNECTIONS),
    '-d',
    String(seconds),
    ...rate,
    '--har',
    har,
    load.url,
  ];
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] });
  let printed = '';
  for await (const chunk of child.stdout) printed += String(chunk);
  const result = JSON.parse(printed) as Record<'2xx' | 'non2xx' | 'errors' | 'timeouts', number> & {
    readonly requests: { readonly average: number };
    readonly latency: { readonly p99: number };
  };
  if (result.non2xx > 0) throw new Error(`${result.non2xx} answers were not 2xx`);
  if (result.errors + result.timeouts > 0) throw new Error(`${result.errors} requests had no answer`);
  return { accepted: result['2xx'], perSecond: result.requests.average, p99Ms: result.latency.p99 };
}

/** Accepted requests per CPU second of a warm process. */
async function perCpuSecond(
  dir: string,
  pid: number,
  load: Load,
): Promise<Shot & { readonly perCpu: number }> {
  await shoot(dir, load, WARM_UP_SECONDS);
  const before = cpuSecondsOf([pid]);
  const shot = await shoot(dir, load, SECONDS);
  return { ...shot, perCpu: shot.accepted / (cpuSecondsOf([pid]) - before) };
}

/** One metric of a gateway. */
async function readMetric(gateway: RunningGateway, name: string): Promise<number> {
  const opsPort = /"opsPort":(\d+)/.exec(gateway.process.stdout())?.[1];
  const text = await (await fetch(`http://127.0.0.1:${opsPort}/metrics`)).text();
  return Number(new RegExp(`^${name}(?:\\{[^}]*\\})? (\\S+)$`, 'm').exec(text)?.[1] ?? Number.NaN);
}

/** Measures the cost and speed of one gateway process, beside a bare Express server in the same
 * run. */
export async function benchGateway(): Promise<Table> {
  await using stack = new AsyncDisposableStack();
  const dir = mkdtempSync(join(tmpdir(), 'rolecall-bench-'));
  stack.defer(() => rmSync(dir, { recursive: true, force: true }));
  const { config, redis, kafka } = await startStores(stack);
  const countPublished = () => countRecords(kafka.admin, [checkRequestedBulk]);
  const apps = Array.from({ length: APPS }, () => makeTestApp());
  const clientApps = makeClientApps(redis);
  for (const { document } of apps) await clientApps.project(document);
  const gateway = stack.use(await startGateway(config, { LOG_LEVEL: 'info' }));
  const bare = fork(fileURLToPath(new URL('./bare-express.ts', import.meta.url)));
  stack.defer(() => void bare.kill('SIGKILL'));
  const [barePort] = (await once(bare, 'message')) as [number];
  const bareUrl = `http://127.0.0.1:${barePort}`;

  const rows: Row[] = [];
  let highest = 0;
  for (const { rules, count, min } of [
    { rules: 1, count: 1, min: 0.7 },
    { rules: 10, count: 1, min: 0.7 },
    { rules: 100, count: 1, min: 0.4 },
    { rules: 1, count: APPS, min: 0.7 },
  ]) {
    const own = apps.slice(0, count);
    const against = await perCpuSecond(dir, bare.pid ?? 0, { url: bareUrl, rules, apps: own.slice(0, 1) });
    const before = await countPublished();
    const measured = await perCpuSecond(dir, gateway.process.pid, { url: gateway.url, rules, apps: own });
    const published = (await countPublished()) - before;
    if (published < measured.accepted)
      throw new Error(`${measured.accepted - published} accepted checks are lost`);
    if (rules === 1 && count === 1) highest = measured.perSecond;
    rows.push({
      what: `accepted async checks, ${rules} rules, ${count} client apps`,
      measured: measured.perCpu,
      unit: '1/CPU s',
      against: { what: 'bare Express 5 JSON POST', measured: against.perCpu },
      goal: { of: 'ratio', min },
    });
  }
  const steady = await shoot(
    dir,
    { url: gateway.url, rules: 1, apps: apps.slice(0, 1), rate: highest * LOAD_SHARE },
    SECONDS,
  );
  rows.push({
    what: `p99 at 70 % load (${Math.round(steady.perSecond)} 1/s)`,
    measured: steady.p99Ms,
    unit: 'ms',
  });
  rows.push({
    what: 'event-loop delay p99 at that load',
    measured:
      (await readMetric(gateway, 'nodejs_eventloop_lag_p99_seconds')) * 1_000 - EVENT_LOOP_SAMPLING_MS,
    unit: 'ms',
    goal: { of: 'value', max: 20 },
  });
  return {
    title: 'gateway',
    rows,
    notes: [`${CONNECTIONS} connections, highest rate ${Math.round(highest)} 1/s`],
  };
}
