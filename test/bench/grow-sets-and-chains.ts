import { RULE_SETS_PATH } from '#shared/contracts/paths.ts';
import { type BenchSystem, chainIdsOf } from './bench-system.ts';
import { completeChecks } from './complete-checks.ts';
import type { Curve, Point } from './curve.ts';
import { COUNT, CPU_LABEL, measureChecks, newPlaces, startWarm } from './grow.ts';
import type { SentWorkload, Workload } from './workload.ts';

const WRITES_AT_ONCE = 8;

/** The cost of a check that names a rule set, by the number of rule sets that are named in turn. */
export async function growRuleSets(sizes: readonly number[]): Promise<Curve> {
  const { bench: started, workload } = await startWarm();
  await using bench = started;
  await putRuleSets(bench, workload, Math.max(...sizes));
  const points: Point[] = [];
  for (const x of sizes) points.push({ x, values: await measureWarm(bench, namingSets(workload, x)) });
  return { title: 'Rule sets named', xLabel: 'rule sets', yLabel: CPU_LABEL, points };
}

const setIdOf = (place: number): string => `set-${place}`;

/** The same checks, whose rules are in rule sets. */
const namingSets = ({ checkAt, verify }: Workload, count: number): SentWorkload => ({
  verify,
  checkAt(index) {
    return { account: checkAt(index).account, ruleSet: setIdOf(index % count) };
  },
});

async function putRuleSets({ system }: BenchSystem, workload: Workload, count: number): Promise<void> {
  const { rules } = workload.checkAt(0);
  let next = 0;
  const put = async (): Promise<void> => {
    while (next < count) {
      const response = await fetch(`${system.ready.gateways[0]}${RULE_SETS_PATH}/${setIdOf(next++)}`, {
        method: 'PUT',
        headers: { 'x-api-key': system.ready.app.apiKey, 'content-type': 'application/json' },
        body: JSON.stringify({ rules }),
      });
      if (response.status !== 201)
        throw new Error(`a rule set was answered with ${response.status}: ${await response.text()}`);
      await response.text();
    }
  };
  await Promise.all(Array.from({ length: WRITES_AT_ONCE }, put));
}

/** The cost of a check by the number of chains among which the checks are divided; each has three endpoints. */
export async function growChains(sizes: readonly number[]): Promise<Curve> {
  const chainCount = Math.max(...sizes);
  const { bench: started, workload } = await startWarm({ chainCount });
  await using bench = started;
  const points: Point[] = [];
  for (const x of sizes) points.push({ x, values: await measureWarm(bench, onChains(workload, x)) });
  const note = `All ${chainCount} chains are configured at every point, with three endpoints each.`;
  return { title: 'Chains read', xLabel: 'chains', yLabel: CPU_LABEL, points, note };
}

/** The same checks, each on one chain. */
const onChains = ({ checkAt, verify }: Workload, count: number): SentWorkload => {
  const chainIds = chainIdsOf(count);
  return {
    verify,
    checkAt(index) {
      const { account, rules } = checkAt(index);
      const chainId = chainIds[index % count];
      return { account, rules: rules.map((rule) => ({ ...rule, chainId })) };
    },
  };
};

async function measureWarm(bench: BenchSystem, workload: SentWorkload): Promise<Point['values']> {
  await completeChecks(bench, { workload, from: newPlaces(COUNT), count: COUNT / 3 });
  return measureChecks(bench, { workload, count: COUNT });
}
