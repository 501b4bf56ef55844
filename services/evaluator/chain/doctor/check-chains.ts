import type { ChainFile, ChainSettings } from '#shared/contracts/chain-file.ts';
import type { EndpointReport } from '#shared/contracts/chain-report.ts';
import { Endpoint } from '../endpoints/endpoint.ts';
import { connectRpc } from '../rpc/connect-rpc.ts';
import { type CheckedEndpoint, checkEndpoint, emptyReport } from './check-endpoint.ts';

/** Chains that are checked at once, each with all its endpoints. */
const AT_ONCE = 8;
/** For one endpoint: it may have a rate of one call in a second. */
const CHECK_MS_MAX = 60_000;

type CheckOne = (checked: CheckedEndpoint) => Promise<EndpointReport>;

/**
 * Checks every endpoint of a chain file, in the file's order.
 *
 * @example
 * const reports = await checkAll(file, (checked) => checkEndpoint(checked, options));
 * reports.flatMap(({ problems }) => problems); // '/chains/0/endpoints/1: nothing answers: …'
 */
export async function checkAll({ chains }: Pick<ChainFile, 'chains'>, checkOne: CheckOne) {
  const reports: EndpointReport[][] = [];
  const waiting = chains.entries();
  const work = async () => {
    for (const [index, chain] of waiting) reports[index] = await checkChain(chain, index, checkOne);
  };
  await Promise.all(Array.from({ length: AT_ONCE }, work));
  return reports.flat();
}

async function checkChain(chain: ChainSettings, chainIndex: number, checkOne: CheckOne) {
  const { quorum } = chain;
  const reports = await Promise.all(
    chain.endpoints.map((settings, index) =>
      checkOne({ chain, settings, index, place: `/chains/${chainIndex}/endpoints/${index}` }),
    ),
  );
  const usable = reports.filter(({ method }) => method !== null).length;
  // With a quorum of one, the endpoint's own problem says it all.
  if (quorum === 1 || usable >= quorum) return reports;
  const short = `/chains/${chainIndex}/quorum: ${quorum} endpoints must agree, and ${usable} can be read.`;
  return reports.map((report) =>
    report.method === null ? { ...report, problems: [...report.problems, short] } : report,
  );
}

type Options = {
  /** Time limit of one call. */
  readonly timeoutMs: number;
  /** By JSON pointer, the names that a text of the file asks for and the environment lacks. */
  readonly missing?: readonly { readonly pointer: string; readonly name: string }[];
};

/** Checks every endpoint of a chain file by connections of its own. */
export const checkChains = (file: ChainFile, options: Options): Promise<EndpointReport[]> =>
  checkAll(file, (checked) => checkByItself(checked, options));

async function checkByItself(
  checked: CheckedEndpoint,
  { timeoutMs, missing = [] }: Options,
): Promise<EndpointReport> {
  const { url, headers, proxy, maxCallsPerBatch, requestsPerSecond } = checked.settings;
  const lacks = missing.filter(({ pointer }) => concerns(pointer, checked));
  if (lacks.length > 0)
    return {
      ...emptyReport(checked),
      problems: lacks.map(({ pointer, name }) => `${pointer}: the environment has no ${name}: set it.`),
    };
  await using rpc = connectRpc({ url, headers, proxy, timeoutMs });
  const endpoint = new Endpoint({
    name: checked.place,
    rpc,
    maxCallsPerBatch,
    rateShare: requestsPerSecond === undefined ? undefined : () => requestsPerSecond,
    monotonicMs: () => performance.now(),
  });
  const signal = AbortSignal.timeout(CHECK_MS_MAX);
  return await checkEndpoint(checked, { endpoint, arrayMax: rpc.arrayMax, signal, now: Date.now });
}

/** Whether a text of the file is of this endpoint, or of its chain as a whole. */
function concerns(pointer: string, { place }: CheckedEndpoint): boolean {
  const endpoints = place.slice(0, place.lastIndexOf('/') + 1);
  const chain = endpoints.slice(0, endpoints.lastIndexOf('endpoints'));
  return pointer.startsWith(`${place}/`) || (pointer.startsWith(chain) && !pointer.startsWith(endpoints));
}
