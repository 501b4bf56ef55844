import { askUnknown, judgeUnknown } from './ask-unknown.ts';
import { compileTokens, type Token } from './compile-tokens.ts';
import { deployTokens } from './deploy-tokens.ts';
import { judgeByWay, WAYS, type Way } from './judge-by-way.ts';
import { makeCases } from './make-rules.ts';
import { askNode } from './node-oracle.ts';
import { type Prepared, prepare } from './prepare.ts';
import {
  type ClientReport,
  compareWithNode,
  findDisagreements,
  formatReport,
  formatUnknown,
  isClean,
  isUnharmed,
  type Unknown,
} from './report.ts';
import { CHAIN_ID, CLIENTS, type Client } from './start-clients.ts';

// Compares the evaluator's verdicts with Ethereum clients' own answers: real tokens from npm, each
// rule at its boundary, by all three ways of reading. It exits 1 if a verdict is wrong or missing,
// or if two ways disagree.
//
//   node test/clients/main.ts [client …]

/** A client that takes longer hangs. */
const RUN_MS_MAX = 40 * 60_000;

const unknowns: Unknown[] = [];

const say = (line: string): void => void process.stdout.write(`${line}\n`);

async function judgeClient(
  client: Client,
  prepared: Prepared,
  tokens: readonly Token[],
): Promise<ClientReport | undefined> {
  const startedMs = performance.now();
  const running = await client.start(prepared);
  if (typeof running === 'string') {
    say(`${client.name}: skipped: ${running}`);
    return undefined;
  }
  await using chain = running;
  unknowns.push({
    client: client.name,
    answers: await askUnknown(chain.rpc),
    outcomes: await judgeUnknown(chain.rpc, client.chainId ?? CHAIN_ID),
  });
  if (client.isOnlyAsked) return undefined;
  const deployment = await deployTokens(chain.rpc, tokens, client);
  const [now, past] = [await askNode(chain.rpc), await askNode(chain.rpc, deployment.pastBlock)];
  const cases = await makeCases(deployment, now, past);
  const byWay = [];
  for (const way of Object.keys(WAYS) as Way[])
    byWay.push({ way, judged: await judgeByWay(chain.rpc, way, cases, deployment.registry) });
  const ways = await Promise.all(byWay.map(compareWithNode));
  const { tokenCount } = deployment;
  const report = { client: client.name, tokenCount, ways, disagreements: findDisagreements(byWay) };
  say(formatReport(report));
  say(`  ${((performance.now() - startedMs) / 1_000).toFixed(0)} s`);
  return report;
}

const names = process.argv.slice(2);
const unknown = names.filter((name) => !CLIENTS.some((client) => client.name === name));
if (unknown.length > 0)
  throw new Error(
    `no such client: ${unknown.join(', ')}; there are ${CLIENTS.map(({ name }) => name).join(', ')}`,
  );
// Exiting runs the handlers that stop the clients.
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(1));
setTimeout(() => {
  say(`the run did not end within ${RUN_MS_MAX / 60_000} minutes`);
  process.exit(1);
}, RUN_MS_MAX).unref();

const isChosen = ({ name, isOnlyAsked }: Client): boolean =>
  names.length === 0 ? !isOnlyAsked : names.includes(name);
const prepared = await prepare({ withAvalanche: names.includes('avalanche') });
const tokens = await compileTokens(prepared.packages);
const reports: ClientReport[] = [];
for (const client of CLIENTS.filter(isChosen)) {
  const report = await judgeClient(client, prepared, tokens);
  if (report !== undefined) reports.push(report);
}
say(formatUnknown(unknowns));
process.exitCode = unknowns.length > 0 && unknowns.every(isUnharmed) && reports.every(isClean) ? 0 : 1;
