import { metricsOf, PROCESSES } from './support/judges/metric-inventory.ts';

// Every metric of every process: its name and its labels.

/** The last word of a gauge's name: a unit, or for counts the counted thing. */
const GAUGE_ENDINGS = [
  'seconds',
  'bytes',
  // counted things
  'connections',
  'waiters',
  'reads',
  'contracts',
  'members',
  'watches',
  'partitions',
  'messages',
  'breakers',
  'in_progress',
  'waiting',
  'depth',
  'lag',
  'in_flight',
  'in_work',
  'number',
  'max',
  // 1 if true
  'parked',
  'held',
  'state',
  'method',
  'joined',
  'ready',
  'whole',
];
const HISTOGRAM_ENDINGS = ['seconds', 'bytes', 'per_call'];
/** Labels with few values, known beforehand: our own names, and names in the chain file. */
const LABELS = [
  'cause',
  'chain_id',
  'check',
  'class',
  'code',
  'decision',
  'direction',
  'endpoint',
  'group',
  'kind',
  'lane',
  'method',
  'mode',
  'operation',
  'outcome',
  'partition',
  'reason',
  'result',
  'route',
  'parked',
  'state',
  'status',
  'tier',
  'topic',
];
/** Labels of Node's own metrics. */
const isNodes = (name: string) => /^(process|nodejs)_/.test(name);
const endsWith = (name: string, endings: readonly string[]) =>
  endings.some((ending) => name.endsWith(`_${ending}`));

describe.each(PROCESSES)('%s', (process) => {
  const metrics = metricsOf(process).filter(({ name }) => !isNodes(name));

  it('has Node’s own metrics, its readiness and its clock', () => {
    const names = metricsOf(process).map(({ name }) => name);
    for (const name of ['process_cpu_seconds_total', 'nodejs_eventloop_lag_p99_seconds'])
      expect(names).toContain(name);
    expect(names).toEqual(expect.arrayContaining(['rolecall_ready', 'rolecall_clock_skew_seconds']));
  });

  it('names all others after the product, with a unit', () => {
    for (const { name } of metrics) expect(name).toMatch(/^rolecall_[a-z][a-z0-9_]*$/);
    const wrong = metrics.filter(({ name, type }) => {
      if (type === 'counter') return !name.endsWith('_total');
      return !endsWith(name, type === 'gauge' ? GAUGE_ENDINGS : HISTOGRAM_ENDINGS);
    });
    expect(wrong).toEqual([]);
  });

  it('has labels with few values, never an account, a contract, a key, a request or an address', () => {
    const strange = metrics.flatMap(({ name, labels }) =>
      labels.filter((label) => !LABELS.includes(label)).map((label) => `${name}{${label}}`),
    );
    expect(strange).toEqual([]);
  });
});

test('the metrics that operators build on exist', () => {
  const all = PROCESSES.flatMap(metricsOf).map(({ name, labels }) => [name, [...labels].sort().join()]);
  expect(all).toEqual(
    expect.arrayContaining([
      ['rolecall_checks_accepted_total', 'mode'],
      ['rolecall_check_seconds', 'mode'],
      ['rolecall_verdicts_total', 'chain_id,outcome'],
      ['rolecall_undetermined_total', 'chain_id,code'],
      ['rolecall_rpc_calls_total', 'chain_id,endpoint,result'],
      ['rolecall_reads_per_call', 'chain_id'],
      ['rolecall_reads_saved_total', 'chain_id,reason'],
      ['rolecall_consumer_lag', 'group,partition,topic'],
      ['rolecall_oldest_unfinished_seconds', 'lane'],
      ['rolecall_webhook_attempts_total', 'class'],
      ['rolecall_webhook_delivery_seconds', ''],
      ['rolecall_limit_decisions_total', 'decision'],
    ]),
  );
});
