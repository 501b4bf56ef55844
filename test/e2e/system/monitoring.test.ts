// A real Prometheus scrapes a running system. Every series of the rules and dashboards exists; and when every
// evaluator is frozen, the alerts for stalled work fire, and clear after the evaluators go on.
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { demoRules } from '../../support/builders/demo-rules.ts';
import { receiveWebhooks } from '../../support/fakes/receive-webhooks.ts';
import {
  describeWithPrometheus,
  type Prometheus,
  startPrometheus,
} from '../../support/infrastructure/prometheus.ts';
import { knownSeries } from '../../support/judges/metric-inventory.ts';
import { loadDashboardQueries, loadRules, RULES } from '../../support/judges/monitoring-files.ts';
import { asAsked, parseQuery } from '../../support/judges/promql.ts';
import { type StartedSystem, startSystem } from '../../support/systems/start-system.ts';
import { waitUntil, waitUntilPasses } from '../../support/wait-until.ts';

/** The rules with their durations shortened: minutes become a second. */
const withShortDurations = (text: string): string =>
  text
    .replaceAll(/for: \d+[mh]$/gm, 'for: 1s')
    .replaceAll(/(oldest_un\w+_seconds:max\{[^}]*\}) > \d+/g, '$1 > 2');

/** They are right to fire on a machine that is busy with something else: its checks are late. */
const OF_SLOW_MACHINES = /^(SyncBudgetBurns(Fast|Slowly)|EventLoopSlow)$/;

const STALLED = ['BulkLaneStalled', 'ConsumerDead', 'ProcessMissing'];

describeWithPrometheus('Prometheus', () => {
  let system: StartedSystem;
  let prometheus: Prometheus;
  beforeAll(async () => {
    system = await startSystem();
    prometheus = await startPrometheus({
      targets: system.ready.processes.flatMap(({ service, ops }) =>
        ops === null ? [] : [{ service, address: new URL(ops).host }],
      ),
      rules: readdirSync(RULES).map((file) => withShortDurations(readFileSync(join(RULES, file), 'utf8'))),
    });
  });
  afterAll(async () => {
    await prometheus?.[Symbol.asyncDispose]();
    await system?.[Symbol.asyncDispose]();
  });

  const aCheck = () => ({ account: system.chain.holder, rules: [demoRules(system.chain).erc20()] });

  /** A watch, so that the chain's transfers are followed. */
  async function watchHolder(callbackUrl: string): Promise<void> {
    const send = async (method: string, path: string, body: object) => {
      const headers = { 'x-api-key': system.ready.app.apiKey, 'content-type': 'application/json' };
      const url = `${system.ready.gateways[0]}/access-control/${path}`;
      const { ok, status } = await fetch(url, { method, headers, body: JSON.stringify(body) });
      expect({ path, status, ok }).toMatchObject({ ok: true });
    };
    await send('PUT', 'rule-sets/holders', { rules: aCheck().rules });
    await send('PUT', 'watches/holders', { ruleSet: 'holders', callbackUrl, everySeconds: 604_800 });
    await send('POST', 'watches/holders/members', { add: [{ account: system.chain.holder, ref: 'holder' }] });
  }

  test('every series of the rules and dashboards exists after a little load', async () => {
    await using receiver = await receiveWebhooks({ secret: system.ready.app.webhookSecret });
    for (let round = 0; round < 3; round++) expect((await system.client.check(aCheck())).status).toBe(200);
    await system.client.checkAndWait(aCheck());
    const { body } = await system.client.check({ ...aCheck(), callbackUrl: receiver.url });
    await receiver.waitFor(({ requestId }) => requestId === body.requestId);
    await watchHolder(receiver.url);
    await receiver.waitFor(({ body }) => body.includes('roles.changed'));
    await fetch(new URL('/api/session', system.ready.portal));

    const asked = [...loadRules(), ...loadDashboardQueries()].flatMap(
      ({ expr }) => parseQuery(expr).selectors,
    );
    // ALERTS exists only while an alert fires.
    const missing = new Set(asked.filter(({ name }) => name !== 'ALERTS').map(({ text }) => text));
    const isThere = async (text: string) => (await prometheus.query(`count(${text})`)).length > 0;
    await waitUntil('every series', async () => {
      for (const text of missing) if (await isThere(text)) missing.delete(text);
      return missing.size === 0;
    }).catch(() => undefined);
    expect([...missing]).toEqual([]);
  });

  test('Prometheus answers every query of the dashboards', async () => {
    const answers = await Promise.all(
      loadDashboardQueries().map(async ({ place, expr }) => ({
        place,
        answer: await prometheus.query(asAsked(expr)),
      })),
    );
    expect(answers.length).toBeGreaterThan(50);
  });

  test('a process exposes no metric of the product that is missing from its list', async () => {
    const shown = await prometheus.query('count by (__name__) ({__name__=~"rolecall_.+"})');
    const known = knownSeries();
    expect(shown.map(({ metric }) => metric['__name__'] ?? '').filter((name) => !known.has(name))).toEqual(
      [],
    );
  });

  test('no alert is pending or firing in a healthy system', async () => {
    const names = async () =>
      (await prometheus.alerts()).flatMap(({ labels: { alertname = '' } }) =>
        OF_SLOW_MACHINES.test(alertname) ? [] : [alertname],
      );
    await waitUntilPasses(async () => expect(await names()).toEqual([]));
  });

  test('alerts for stalled work fire when every evaluator is frozen, and clear after they go on', async () => {
    const { body, status } = await system.client.check({ ...aCheck(), async: true });
    expect(status).toBe(202);
    await system.client.poll(body.requestId ?? '', 10);
    // A killed evaluator would be restarted, and might evaluate the check before it is killed again.
    const signalAll = (signal: NodeJS.Signals) => {
      for (const pid of system.pidsOf('evaluator')) process.kill(pid, signal);
    };
    const fires = async (name: string) =>
      (await prometheus.alerts()).some(
        ({ labels, state }) => labels['alertname'] === name && state === 'firing',
      );
    signalAll('SIGSTOP');
    const waiting = await system.client.check({ ...aCheck(), async: true });
    try {
      expect(waiting.status).toBe(202);
      for (const name of STALLED) await waitUntil(`${name} to fire`, () => fires(name));
      const [firing] = loadDashboardQueries().filter(({ expr }) => expr.includes('ALERTS'));
      await waitUntil(
        'the list of alerts',
        async () => (await prometheus.query(firing?.expr ?? '')).length > 0,
      );
      await waitUntil('the link to the runbook', async () =>
        (await prometheus.alerts()).some(
          ({ annotations }) => annotations['runbook_url'] === 'http://runbook.example/#consumerdead',
        ),
      );
    } finally {
      signalAll('SIGCONT');
    }
    const answer = await waitUntil('the result', async () => {
      const polled = await system.client.poll(waiting.body.requestId ?? '', 5);
      return polled.status === 200 && polled;
    });
    expect(answer.body.roles).toEqual([{ id: 'erc20', granted: true }]);
    for (const name of STALLED) await waitUntil(`${name} to clear`, async () => !(await fires(name)));
  });
});
