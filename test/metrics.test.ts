import { metricsOf, PROCESSES } from './support/metric-inventory.ts';

// Every metric of every process: what it is called, and what may be a label of it.

/** Units, and for counts of things the thing, as the last word of a gauge's name. */
const GAUGE_ENDINGS = [
  'seconds',
  'bytes',
  // things that are counted
  'connections',
  'waiters',
  'reads',
  'contracts',
  'members',
  'partitions',
  'messages',
  'breakers',
  'in_progress',
  'waiting',
  'depth',
  'lag',
  'in_flight',
  'in_progress',
  'in_work',
  'number',
  'max',
  // 1 where it is so
  'parked',
  'held',
  'state',
  'method',
  'joined',
  'ready',
  'whole',
];
const HISTOGRAM_ENDINGS = ['seconds', 'bytes', 'per_call'];
/** Each of them has few values, known beforehand: names of our own, and places in the chain file. */
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
  'until',
];
/** What Node's own figures come with. */
const isNodes = (name: string) => /^(process|nodejs)_/.test(name);
const endsWith = (name: string, endings: readonly string[]) =>
  endings.some((ending) => name.endsWith(`_${ending}`));

describe.each(PROCESSES)('%s', (process) => {
  const metrics = metricsOf(process).filter(({ name }) => !isNodes(name));

  it('has Node’s own figures, its readiness and its clock', () => {
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

  it('has labels of few values: never an account, a contract, a key, a request or an address', () => {
    const strange = metrics.flatMap(({ name, labels }) =>
      labels.filter((label) => !LABELS.includes(label)).map((label) => `${name}{${label}}`),
    );
    expect(strange).toEqual([]);
  });
});

test('what the API’s description names is there', () => {
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
      ['rolecall_webhook_delivery_seconds', 'until'],
      ['rolecall_limit_decisions_total', 'decision'],
    ]),
  );
});
