import type { ChainFile } from '#shared/contracts/chain-file.ts';
import type { EndpointReport } from '#shared/contracts/chain-report.ts';
import { BODY_BYTES_MAX, connectRpc } from '../rpc/connect-rpc.ts';
import { type CheckedEndpoint, checkEndpoint, emptyReport } from './check-endpoint.ts';

/** Endpoints that are checked at once. */
const AT_ONCE = 16;
/** For one endpoint: it may have a rate of one call in a second. */
const CHECK_MS_MAX = 60_000;

type Options = {
  /** Time limit of one call. */
  readonly timeoutMs: number;
  /** By JSON pointer, the names that a text of the file asks for and the environment lacks. */
  readonly missing?: readonly { readonly pointer: string; readonly name: string }[];
  /** Ends the check early. */
  readonly signal?: AbortSignal;
};

/**
 * Checks every endpoint of a chain file, in the file's order.
 *
 * @example
 * const reports = await checkChains(readChainFile(path, env), { timeoutMs: 3_000 });
 * reports.flatMap(({ problems }) => problems); // '/chains/0/endpoints/1: nothing answers: …'
 */
export async function checkChains({ chains }: ChainFile, options: Options): Promise<EndpointReport[]> {
  const all = chains.flatMap((chain, chainIndex) =>
    chain.endpoints.map(
      (settings, index): CheckedEndpoint => ({
        chain,
        settings,
        index,
        place: `/chains/${chainIndex}/endpoints/${index}`,
      }),
    ),
  );
  const reports: EndpointReport[] = [];
  const waiting = all.entries();
  const work = async () => {
    for (const [i, checked] of waiting) reports[i] = await checkOne(checked, options);
  };
  await Promise.all(Array.from({ length: AT_ONCE }, work));
  for (const [chainIndex, { chainId, quorum }] of chains.entries()) {
    const ofChain = reports.filter((report) => report.chainId === chainId);
    const usable = ofChain.filter(({ method }) => method !== null).length;
    const short = `/chains/${chainIndex}/quorum: ${quorum} endpoints must agree, and ${usable} can be read.`;
    // With a quorum of one, the endpoint's own problem says it all.
    if (quorum > 1 && usable < quorum)
      for (const { method, problems } of ofChain) if (method === null) problems.push(short);
  }
  return reports;
}

async function checkOne(
  checked: CheckedEndpoint,
  { timeoutMs, missing = [], signal }: Options,
): Promise<EndpointReport> {
  const { url, headers, proxy } = checked.settings;
  const lacks = missing.filter(({ pointer }) => pointer.startsWith(`${checked.place}/`));
  if (lacks.length > 0)
    return {
      ...emptyReport(checked),
      problems: lacks.map(({ pointer, name }) => `${pointer}: the environment has no ${name}: set it.`),
    };
  await using rpc = connectRpc({ url, headers, proxy, timeoutMs, bodyBytesMax: BODY_BYTES_MAX });
  const limit = AbortSignal.timeout(CHECK_MS_MAX);
  return await checkEndpoint(checked, {
    rpc,
    signal: signal ? AbortSignal.any([limit, signal]) : limit,
    now: Date.now,
    monotonicMs: () => performance.now(),
  });
}
