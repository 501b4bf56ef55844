import { z } from 'zod';
import { type Environment, readSecret } from '../config.ts';
import { ServiceError } from '../errors.ts';
import { isAddressText } from './rules/address.ts';

/** Visible characters, spaces and tabs: anything else, such as a line break, cannot be sent in a
 * header (RFC 9110, 5.5). */
const HeaderValue = z
  .string()
  .regex(
    /^[\t\x20-\x7e\x80-\xff]*$/,
    'cannot be sent: a header holds no line break or other control character',
  );
const HeaderName = z
  .string()
  .regex(/^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/, 'cannot be sent: a header name holds letters, digits and hyphens');

/** The URL of an endpoint or proxy, as far as it is known: other processes than the evaluator see `${NAME}` in it. */
const HttpUrl = z.string().min(1).refine(isHttpUrl, 'must be an http or https URL');

const Endpoint = z.strictObject({
  url: HttpUrl,
  /** How logs and reports name it; without one it is named by its position, as in metrics. */
  name: z
    .string()
    .regex(
      /^(?![0-9]+$)[A-Za-z0-9][A-Za-z0-9 ._-]{0,63}$/,
      'must have 1 to 64 letters, digits, spaces and "._-", and be no number',
    )
    .optional(),
  headers: z.record(HeaderName, HeaderValue).default({}),
  proxy: HttpUrl.optional(),
  maxCallsPerBatch: z.number().int().min(1).max(10_000).optional(),
  /** For the whole pool of evaluators. */
  requestsPerSecond: z.number().positive().max(1_000_000).optional(),
});

/** Where delegate.xyz deploys its registry, version 2. */
const DELEGATE_REGISTRY = '0x00000000000000447e69651d841bd8d104bed493';

const Chain = z.strictObject({
  chainId: z.number().int().positive(),
  name: z.string().min(1).max(100),
  nativeSymbol: z.string().min(1).max(20),
  nativeDecimals: z.number().int().min(0).max(255).default(18),
  /** Absent, also in `BLOCK_TIMES_MS`: it is measured. */
  blockTimeMs: z.number().int().min(1).max(3_600_000).optional(),
  /** A head older than this makes every read `chain-stale`; one in the future is refused. Absent: no such check. */
  maxHeadAgeMs: z.number().int().min(1).optional(),
  /** The registry that is asked whether a vault has delegated. */
  delegateRegistry: z
    .string()
    .refine(isAddressText, 'must be an address: 0x and 40 hexadecimal digits')
    .transform((address) => address.toLowerCase())
    .default(DELEGATE_REGISTRY),
  quorum: z.number().int().min(1).max(10).default(1),
  endpoints: z.array(Endpoint).min(1).max(32),
});
export type ChainSettings = z.infer<typeof Chain>;

export const ChainFile = z
  .strictObject({ chains: z.array(Chain).min(1).max(1000) })
  .superRefine(({ chains }, context) => {
    const seen = new Set<number>();
    for (const [index, chain] of chains.entries()) {
      if (seen.has(chain.chainId))
        context.addIssue({
          code: 'custom',
          path: ['chains', index, 'chainId'],
          message: 'each chain may be listed once',
        });
      seen.add(chain.chainId);
      const names = chain.endpoints.flatMap(({ name }) => name ?? []);
      const repeated = names.find((name, place) => names.indexOf(name) !== place);
      if (repeated !== undefined)
        context.addIssue({
          code: 'custom',
          path: ['chains', index, 'endpoints'],
          message: `two endpoints are named ${repeated}`,
        });
      for (const [place, of] of repeatedUrls(chain.endpoints))
        context.addIssue({
          code: 'custom',
          path: ['chains', index, 'endpoints', place, 'url'],
          message: `must differ from the URL of /chains/${index}/endpoints/${of}: one endpoint listed twice confirms nothing`,
        });
      if (chain.quorum > chain.endpoints.length)
        context.addIssue({
          code: 'custom',
          path: ['chains', index, 'quorum'],
          message: `must be at most the number of endpoints, ${chain.endpoints.length}`,
        });
    }
  });
export type ChainFile = z.infer<typeof ChainFile>;

/** The endpoints whose URL an earlier one has, each with the place of that one. */
function repeatedUrls(endpoints: readonly { readonly url: string }[]): (readonly [number, number])[] {
  const urls = endpoints.map(({ url }) => sentUrlOf(url));
  return urls.flatMap((url, place) => {
    const first = urls.indexOf(url);
    return first < place ? [[place, first] as const] : [];
  });
}

/** The URL as it is called: normalised, and without the fragment, which is not sent. */
function sentUrlOf(text: string): string {
  const url = URL.parse(text);
  if (url === null) return text;
  url.hash = '';
  return url.href;
}

function isHttpUrl(text: string): boolean {
  if (text.includes('${')) return true;
  const url = URL.parse(text);
  return url?.protocol === 'http:' || url?.protocol === 'https:';
}

export type ReadOptions = {
  /** Leaves the texts of endpoints as they are: for processes that call no endpoint, and so need no key. */
  readonly keepsEndpoints?: boolean;
  /** Told each name that the environment lacks, with the place of its text, which stays as it is.
   * Default: such a name is a fault. */
  readonly noteMissing?: (pointer: string, name: string) => void;
};

/**
 * Reads the chain file, naming every fault by its place and never by its value, which may hold a key.
 *
 * @param env the values that replace `${NAME}` inside a text; a file may hold one, as any secret
 * @throws ServiceError `config-invalid`, also if `env` lacks a name
 */
export function parseChainFile(text: string, env: Environment, options: ReadOptions = {}): ChainFile {
  let json: unknown;
  try {
    // A byte-order mark, as editors of Windows write it, is not JSON.
    json = JSON.parse(text.replace(/^\ufeff/, ''));
  } catch {
    throw new ServiceError('config-invalid', 'the chain file is not JSON');
  }
  const faults: string[] = [];
  const missing = new Set<string>();
  const noteMissing = (pointer: string, name: string) => {
    if (!missing.has(name)) faults.push(`${pointer}: the environment has no ${name}`);
    missing.add(name);
  };
  const parsed = ChainFile.safeParse(replaceNames(json, env, { noteMissing, ...options }));
  for (const { path, message } of parsed.error?.issues ?? []) faults.push(`/${path.join('/')}: ${message}`);
  if (faults.length > 0 || !parsed.success)
    throw new ServiceError('config-invalid', `the chain file has faults: ${faults.join('; ')}`);
  return { chains: parsed.data.chains.map(withBlockTime) };
}

/** Fills in the block time that a well-known chain leaves out. */
function withBlockTime(chain: ChainSettings): ChainSettings {
  const blockTimeMs = chain.blockTimeMs ?? BLOCK_TIMES_MS.get(chain.chainId);
  return blockTimeMs === undefined ? chain : { ...chain, blockTimeMs };
}

type Replacing = Pick<ReadOptions, 'keepsEndpoints'> & Required<Pick<ReadOptions, 'noteMissing'>>;

function replaceNames(value: unknown, env: Environment, options: Replacing, pointer = ''): unknown {
  const replaced = (key: number | string, each: unknown): unknown =>
    replaceNames(each, env, options, `${pointer}/${key}`);
  if (typeof value === 'string')
    return value.replace(/\$\{([A-Za-z_][A-Za-z0-9_]*)\}/g, (text, name: string) => {
      const found = readSecret(env, name);
      if (found === undefined) options.noteMissing(pointer, name);
      return found ?? text;
    });
  if (Array.isArray(value)) return value.map((each, index) => replaced(index, each));
  if (typeof value === 'object' && value !== null)
    return Object.fromEntries(
      Object.entries(value).map(([key, each]) =>
        options.keepsEndpoints && key === 'endpoints' ? [key, each] : [key, replaced(key, each)],
      ),
    );
  return value;
}

/** Block times of well-known chains, by the ids of github.com/ethereum-lists/chains, as their own
 * documents say. */
const BLOCK_TIMES_MS: ReadonlyMap<number, number> = new Map([
  [1, 12_000], // Ethereum
  [10, 2_000], // OP Mainnet
  [25, 500], // Cronos
  [56, 750], // BNB Smart Chain
  [100, 5_000], // Gnosis
  [130, 1_000], // Unichain
  [137, 2_000], // Polygon
  [146, 500], // Sonic
  [250, 1_000], // Fantom
  [480, 2_000], // World Chain
  [1_284, 6_000], // Moonbeam
  [1_329, 400], // Sei
  [2_020, 3_000], // Ronin
  [5_000, 2_000], // Mantle
  [8_453, 2_000], // Base
  [17_000, 12_000], // Holesky
  [33_139, 250], // ApeChain
  [42_161, 250], // Arbitrum One
  [42_170, 250], // Arbitrum Nova
  [42_220, 1_000], // Celo
  [43_114, 2_000], // Avalanche C-Chain
  [57_073, 1_000], // Ink
  [59_144, 2_000], // Linea
  [80_094, 2_000], // Berachain
  [81_457, 2_000], // Blast
  [84_532, 2_000], // Base Sepolia
  [421_614, 250], // Arbitrum Sepolia
  [534_352, 3_000], // Scroll
  [560_048, 12_000], // Hoodi
  [7_777_777, 2_000], // Zora
  [11_155_111, 12_000], // Sepolia
  [11_155_420, 2_000], // OP Sepolia
]);
