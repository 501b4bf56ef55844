import { findFreePorts } from '../../deploy/local/settings/ports.ts';
import { receiveSpans } from '../../test/support/fakes/receive-spans.ts';
import { spawnNode } from '../../test/support/systems/spawn-process.ts';
import { parseTraceparent } from './traceparent.ts';
import { activeTraceId, isTracing, withSpan } from './tracing.ts';

const PARENT = `00-${'a'.repeat(32)}-${'b'.repeat(16)}-01`;
const LINKED = `00-${'c'.repeat(32)}-${'d'.repeat(16)}-01`;

test('without an export a span passes on its parent, and the result or error of its work', async () => {
  expect(isTracing()).toBe(false);
  expect(await withSpan('work', { parent: PARENT }, async (traceparent) => traceparent)).toBe(PARENT);
  const failure = new Error('boom');
  await expect(withSpan('work', {}, () => Promise.reject(failure))).rejects.toBe(failure);
  expect(activeTraceId()).toBeUndefined();
});

test('without an export and a parent, every piece of work starts a new trace, marked as not recorded', async () => {
  const own = await withSpan('work', {}, async (traceparent) => traceparent);
  expect(parseTraceparent(own)).toMatchObject({ traceFlags: 0 });
  expect(await withSpan('work', {}, async (traceparent) => traceparent)).not.toBe(own);
});

/** Runs code in a process of its own that has loaded the modules of every service, and returns its
 * output. */
async function runLines(lines: string, env: Readonly<Record<string, string>> = {}) {
  const program = `
    import { registerHooks } from 'node:module';
    const loaded = [];
    registerHooks({ load: (url, context, next) => (loaded.push(url), next(url, context)) });
    await import('#shared/lifecycle.ts');
    await import('#shared/kafka/connect.ts');
    const { makeLogger } = await import('#shared/telemetry/log.ts');
    const { isTracing, startTracing, withSpan } = await import('#shared/telemetry/tracing.ts');
    const log = makeLogger('test', 'info');
    ${lines}`;
  await using child = spawnNode(['--input-type=module', '-e', program], env);
  const exitCode = await child.exited;
  if (exitCode !== 0) throw new Error(child.stderr());
  return child.stdout().trim();
}

const COUNT_SDK = `console.log(loaded.filter((url) => url.includes('/@opentelemetry/sdk')).length > 0);`;

test('the SDK is loaded when the export is started, and not before', async () => {
  expect(await runLines(COUNT_SDK)).toBe('false');
  expect(await runLines(`await startTracing('test', log); ${COUNT_SDK} process.exit();`)).toBe('true');
});

const MAKE_SPANS = `
  const tracing = await startTracing('test', log);
  const options = { parent: '${PARENT}', links: ['${LINKED}', 'nonsense'], kind: 'client', attributes: { a: 1 } };
  await withSpan('outer', options, async (traceparent, note) => {
    note({ b: 'two' });
    log.info('a line inside');
    await withSpan('inner', { parent: traceparent }, async () => Promise.reject(new TypeError('secret text'))).catch(() => 0);
    console.log(traceparent);
  });
  await tracing[Symbol.asyncDispose]();
  console.log(isTracing());`;

/** The output of `MAKE_SPANS`: the log and the program write independently, in no fixed order. */
function printedBy(output: string) {
  const lines = output.split('\n');
  return {
    logLine: lines.find((line) => line.includes('a line inside')) ?? '',
    traceparent: lines.find((line) => line.startsWith('00-')),
  };
}

const exportTo = (endpoint: string) => ({
  OTEL_EXPORTER_OTLP_ENDPOINT: endpoint,
  OTEL_EXPORTER_OTLP_PROTOCOL: 'http/json',
});

test('spans reach the collector before the process ends, with parent, links, attributes and failures', async () => {
  await using collector = await receiveSpans();
  const { logLine, traceparent } = printedBy(await runLines(MAKE_SPANS, exportTo(collector.endpoint)));
  const [inner, outer] = collector.spans;
  const traceId = 'a'.repeat(32);
  expect(outer).toMatchObject({
    service: 'rolecall-test',
    name: 'outer',
    traceId,
    parentSpanId: 'b'.repeat(16),
    links: [{ traceId: 'c'.repeat(32), spanId: 'd'.repeat(16) }],
    attributes: { a: 1, b: 'two' },
  });
  expect(traceparent).toBe(`00-${traceId}-${outer?.spanId}-01`);
  expect(inner).toMatchObject({ name: 'inner', traceId, parentSpanId: outer?.spanId, status: { code: 2 } });
  expect(inner?.attributes['error.type']).toBe('handler-failed');
  expect(collector.bodies.join()).not.toContain('secret text');
  expect(JSON.parse(logLine)).toMatchObject({ msg: 'a line inside', traceId });
});

test('a trace that the sampler leaves out is not exported, and its `traceparent` says so', async () => {
  await using collector = await receiveSpans();
  const env = { ...exportTo(collector.endpoint), OTEL_TRACES_SAMPLER: 'always_off' };
  const { traceparent } = printedBy(await runLines(MAKE_SPANS, env));
  expect(parseTraceparent(traceparent)).toMatchObject({ traceId: 'a'.repeat(32), traceFlags: 0 });
  expect(collector.spans).toEqual([]);
});

test('no spans are made if OTEL variables disable the SDK', async () => {
  const lines = `await startTracing('test', log); console.log(isTracing());`;
  expect(await runLines(lines, { OTEL_SDK_DISABLED: 'true' })).toBe('false');
});

test('an unreachable collector is logged once, without its address, and delays only the end by seconds', async () => {
  const [port] = await findFreePorts(1);
  const printed = await runLines(MAKE_SPANS, exportTo(`http://127.0.0.1:${port}/with-a-token`));
  const warnings = printed.split('\n').filter((line) => line.includes('spans not exported'));
  expect(warnings.length).toBeLessThanOrEqual(1);
  expect(printed).not.toContain('with-a-token');
  expect(printed.endsWith('false')).toBe(true);
});
