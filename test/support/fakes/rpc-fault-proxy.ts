import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { setTimeout as sleep } from 'node:timers/promises';

/**
 * The faults that the proxy adds to a call:
 * - `none` passes it on; `refuse` closes the port; `hang` never answers; `reset` cuts the
 *   connection;
 * - `http-429`, `http-500`, `http-503` answer with that status; `malformed` is not JSON;
 *   `endless-body` never ends;
 * - `rpc-error` is an unknown JSON-RPC error;
 * - `short-batch` leaves the last answer of a batch out (for a single call: an empty array);
 *   `wrong-id`;
 * - `wrong-chain-id` reports another chain; `stale-head` reports an old head; `unknown-block` has
 *   no block;
 * - `ignored-pin` answers calls from another block than the requested one;
 * - `altered-balance` adds one to every balance;
 * - `zero-balance` answers every balance with zero;
 * - `parent-blocks` lets the EVM count the blocks of another chain, as Arbitrum's does (no fault,
 *   but as confusing);
 * - `earlier-state` and `later-state` run a call in the context of its block over the state of the
 *   block before, or of the newest one (then heads are old); `other-hashes`: `BLOCKHASH` is not the
 *   hash of a header, as on some zk rollups; `earlier-times`: headers say an hour less;
 * - `false-head` names a head that no node has; `old-head` names an old one, with the newest time;
 * - `other-native-unit`: `eth_getBalance` has ten decimals more than the EVM, as Hedera's has (no
 *   fault either);
 * - `hash-hangs` never answers a call that names its block by hash, as ganache-cli 6 does;
 * - `no-logs` does not offer `eth_getLogs`; `ten-blocks-of-logs` refuses larger ranges;
 *   `fewer-logs` leaves out the logs of the newest block, like a node that has not indexed it yet;
 *   `foreign-logs` adds a log of another block;
 * - `no-override` refuses state overrides, as some providers do; `plain-calls-only` has no
 *   Multicall3 either;
 * - `numbers-only` refuses overrides and blocks named by hash, as Ganache does.
 */
export type FaultKind =
  | 'none'
  | 'refuse'
  | 'hang'
  | 'reset'
  | 'http-429'
  | 'http-500'
  | 'http-503'
  | 'malformed'
  | 'endless-body'
  | 'rpc-error'
  | 'short-batch'
  | 'wrong-id'
  | 'wrong-chain-id'
  | 'stale-head'
  | 'unknown-block'
  | 'ignored-pin'
  | 'altered-balance'
  | 'zero-balance'
  | 'parent-blocks'
  | 'earlier-state'
  | 'later-state'
  | 'other-hashes'
  | 'earlier-times'
  | 'false-head'
  | 'old-head'
  | 'other-native-unit'
  | 'hash-hangs'
  | 'no-logs'
  | 'ten-blocks-of-logs'
  | 'fewer-logs'
  | 'foreign-logs'
  | 'no-override'
  | 'plain-calls-only'
  | 'numbers-only';

export type Fault = {
  readonly kind: FaultKind;
  /** A delay before anything else; default 0. */
  readonly delayMs?: number;
  /** The affected methods; default all. */
  readonly methods?: readonly string[];
};

export type RpcFaultProxy = AsyncDisposable & {
  readonly url: string;
  /** Sets the fault from now on; a function is called for every HTTP request. */
  setFault(fault: Fault | FaultKind | (() => Fault | FaultKind)): Promise<void>;
  /** The requests so far: HTTP requests, and JSON-RPC calls by method. */
  readonly calls: { requestCount: number; byMethod: Record<string, number> };
};

type Call = { id: unknown; method: string; params: unknown[] };
type Answer = { jsonrpc: '2.0'; id: unknown; result?: unknown; error?: { code: number; message: string } };

const STALE_BLOCKS = 30;
/** Few enough for a probe, which reads some blocks below the head. */
const FALSE_BLOCKS = 8;
const ENDLESS_CHUNK = 'x'.repeat(64 * 1024);
const FIRST_BLOCK = '0x1';
const LOG_BLOCKS_MAX = 10;
const MULTICALL3_ADDRESS = '0xca11bde05977b3631167028862be2a173976ca11';

/**
 * Starts an HTTP proxy in front of a chain's JSON-RPC that misbehaves on command.
 *
 * @example
 * await using proxy = await startRpcFaultProxy({ target: chain.rpc });
 * await proxy.setFault('hang');
 */
export async function startRpcFaultProxy(options: {
  target: string;
  port?: number;
  /** Reports another chain id than the target's. */
  chainId?: number;
}): Promise<RpcFaultProxy> {
  const calls: RpcFaultProxy['calls'] = { requestCount: 0, byMethod: {} };
  let next: () => Fault | FaultKind = () => 'none';
  const sockets = new Set<Socket>();
  const server = createServer((request, response) => {
    void serve(request, response).catch(() => response.destroy());
  });
  server.on('connection', (socket) => {
    sockets.add(socket);
    socket.on('close', () => sockets.delete(socket));
  });
  await listen(server, options.port ?? 0);
  const { port } = server.address() as AddressInfo;

  async function serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    calls.requestCount += 1;
    const body: unknown = JSON.parse(await textOf(request));
    const batch = (Array.isArray(body) ? body : [body]) as Call[];
    for (const { method } of batch) calls.byMethod[method] = (calls.byMethod[method] ?? 0) + 1;
    const chosen = next();
    const fault = typeof chosen === 'string' ? { kind: chosen } : chosen;
    const isHit = batch.some(({ method }) => fault.methods?.includes(method) ?? true);
    if (isHit && fault.delayMs !== undefined) await sleep(fault.delayMs);
    const kind = isHit ? fault.kind : 'none';
    if (kind === 'hash-hangs' && JSON.stringify(body).includes('"blockHash"')) return;
    if (spoil(kind, request, response)) return;
    const answers = await Promise.all(batch.map((call) => answer(options, call, kind)));
    if (kind === 'short-batch') answers.pop();
    const isArray = Array.isArray(body) || kind === 'short-batch';
    response.setHeader('content-type', 'application/json');
    response.end(JSON.stringify(isArray ? answers : answers[0]));
  }

  return {
    url: `http://127.0.0.1:${port}`,
    calls,
    async setFault(fault) {
      next = typeof fault === 'function' ? fault : () => fault;
      const isRefusing =
        typeof fault !== 'function' && (typeof fault === 'string' ? fault : fault.kind) === 'refuse';
      if (isRefusing && server.listening) await close(server, sockets);
      if (!isRefusing && !server.listening) await listen(server, port);
    },
    async [Symbol.asyncDispose]() {
      if (server.listening) await close(server, sockets);
    },
  };
}

/** Applies the faults that need no answer of the chain. Returns whether it applied one. */
function spoil(kind: FaultKind, request: IncomingMessage, response: ServerResponse): boolean {
  switch (kind) {
    case 'hang':
      return true;
    case 'refuse':
    case 'reset':
      request.socket.destroy();
      return true;
    case 'http-429':
      response.writeHead(429, { 'retry-after': '1' }).end('{"message":"busy"}');
      return true;
    case 'http-500':
    case 'http-503':
      response.writeHead(Number(kind.slice('http-'.length))).end('<html>oops</html>');
      return true;
    case 'malformed':
      response.end('{"jsonrpc":"2.0","id":1,"result":');
      return true;
    case 'endless-body':
      void pipeline(Readable.from(endlessAnswer()), response).catch(() => undefined);
      return true;
    default:
      return false;
  }
}

function* endlessAnswer(): Generator<string> {
  yield '{"jsonrpc":"2.0","id":1,"result":"0x';
  for (;;) yield ENDLESS_CHUNK;
}

async function answer(
  { target, chainId }: { target: string; chainId?: number },
  call: Call,
  kind: FaultKind,
): Promise<Answer> {
  const error = (message: string): Answer => ({
    jsonrpc: '2.0',
    id: call.id,
    error: { code: -32_000, message },
  });
  if (kind === 'rpc-error') return error('the flux capacitor is misaligned');
  if (kind === 'unknown-block' && call.method === 'eth_call') return error('header not found');
  const isWithoutOverride = ['no-override', 'plain-calls-only', 'numbers-only'].includes(kind);
  if (isWithoutOverride && call.params.length > 2) return error('too many arguments, want at most 2');
  if (kind === 'numbers-only' && typeof call.params[1] === 'object')
    return error('Cannot wrap a "object" as a json-rpc type');
  if (kind === 'plain-calls-only' && call.method === 'eth_getCode' && isMulticall3(call))
    return { jsonrpc: '2.0', id: call.id, result: '0x' };
  if (kind === 'no-logs' && call.method === 'eth_getLogs')
    return { jsonrpc: '2.0', id: call.id, error: { code: -32_601, message: 'method not found' } };
  if (kind === 'ten-blocks-of-logs' && logRangeOf(call) > LOG_BLOCKS_MAX)
    return error(`eth_getLogs is limited to a ${LOG_BLOCKS_MAX} blocks range`);
  const given = await forward(target, await altered(target, call, kind));
  if (call.method === 'eth_getLogs') return { ...given, result: logsAltered(call, given.result, kind) };
  if (kind === 'wrong-id') return { ...given, id: 999_999_999 };
  if (kind === 'wrong-chain-id' && call.method === 'eth_chainId') return { ...given, result: '0x7b' };
  if (chainId !== undefined && call.method === 'eth_chainId')
    return { ...given, result: `0x${chainId.toString(16)}` };
  if (kind === 'other-hashes' && call.method === 'eth_call') {
    const { parentHash } = await headerOf(target, call);
    const result = String(given.result).replaceAll(parentHash.slice(2), 'ee'.repeat(32));
    return 'result' in given ? { ...given, result } : given;
  }
  if (kind === 'earlier-times' && call.method.startsWith('eth_getBlockBy')) {
    const header = given.result as { readonly timestamp: string } | null;
    const timestamp = `0x${(Number(header?.timestamp) - 3_600).toString(16)}`;
    return { ...given, result: header && { ...header, timestamp } };
  }
  if (kind === 'false-head' && isOfHead(call)) {
    const header = given.result as { readonly number: string };
    const number = `0x${(Number(header.number) + FALSE_BLOCKS).toString(16)}`;
    return { ...given, result: { ...header, number, hash: `0x${'fa'.repeat(32)}` } };
  }
  if (kind === 'old-head' && isOfHead(call)) {
    const { timestamp } = (await forward(target, call)).result as { readonly timestamp: string };
    return { ...given, result: { ...(given.result as object), timestamp } };
  }
  if (kind === 'other-native-unit' && call.method === 'eth_getBalance')
    return { ...given, result: `0x${(BigInt(String(given.result)) * 10n ** 10n).toString(16)}` };
  if (kind === 'parent-blocks' && call.method === 'eth_call')
    return { ...given, result: ofParent(call, given.result) };
  if (kind === 'altered-balance' && call.method === 'eth_call')
    return { ...given, result: liedAbout(given.result, plusOne) };
  if (kind === 'zero-balance' && call.method === 'eth_call')
    return { ...given, result: liedAbout(given.result, () => '0'.repeat(64)) };
  return given;
}

type LogFilter = { readonly fromBlock?: string; readonly toBlock?: string };

/** The number of blocks that a call of `eth_getLogs` covers; 0 for any other call. */
function logRangeOf({ method, params: [filter] }: Call): number {
  if (method !== 'eth_getLogs') return 0;
  const { fromBlock, toBlock } = filter as LogFilter;
  return Number(toBlock) - Number(fromBlock) + 1;
}

function logsAltered({ params: [filter] }: Call, result: unknown, kind: FaultKind): unknown {
  if (!Array.isArray(result)) return result;
  const { fromBlock, toBlock } = filter as LogFilter;
  if (kind === 'fewer-logs') return result.filter(({ blockNumber }) => blockNumber !== toBlock);
  if (kind === 'foreign-logs')
    return result.map((log) => ({ ...log, blockNumber: `0x${(Number(fromBlock) - 1).toString(16)}` }));
  return result;
}

const isMulticall3 = ({ params: [address] }: Call): boolean =>
  String(address).toLowerCase() === MULTICALL3_ADDRESS;

async function altered(target: string, call: Call, kind: FaultKind): Promise<Call> {
  if (kind === 'ignored-pin' && call.method === 'eth_call')
    return { ...call, params: [call.params[0], FIRST_BLOCK, ...call.params.slice(2)] };
  if ((kind === 'earlier-state' || kind === 'later-state') && call.method === 'eth_call') {
    const { number } = await headerOf(target, call);
    const state = kind === 'later-state' ? 'latest' : `0x${(Number(number) - 1).toString(16)}`;
    return { ...call, params: [call.params[0], state, call.params[2] ?? {}, { number }] };
  }
  const isStale = kind === 'stale-head' || kind === 'later-state' || kind === 'old-head';
  if (isStale && isOfHead(call)) {
    const { result } = await forward(target, { id: 1, method: 'eth_blockNumber', params: [] });
    const number = Math.max(0, Number(result) - STALE_BLOCKS);
    return { ...call, params: [`0x${number.toString(16)}`, false] };
  }
  return call;
}

const isOfHead = ({ method, params }: Call): boolean =>
  method === 'eth_getBlockByNumber' && params[0] === 'latest';

/** The header of the block that a call names. */
async function headerOf(target: string, { params }: Call): Promise<{ number: string; parentHash: string }> {
  const at = params[1] as string | { readonly blockHash: string };
  const method = typeof at === 'string' ? 'eth_getBlockByNumber' : 'eth_getBlockByHash';
  const hashOrNumber = typeof at === 'string' ? at : at.blockHash;
  const { result } = await forward(target, { id: 1, method, params: [hashOrNumber, false] });
  return result as { number: string; parentHash: string };
}

async function forward(target: string, call: Call): Promise<Answer> {
  const response = await fetch(target, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ ...call, jsonrpc: '2.0' }),
  });
  return (await response.json()) as Answer;
}

/** Changes the block that the reader proved, if the reader asked the EVM (first byte 0) and not the
 * chain's contract. */
function ofParent({ params: [call] }: Call, result: unknown): unknown {
  const { data = '' } = call as { data?: string };
  if (typeof result !== 'string' || result.length < 130 || !data.startsWith('0x00')) return result;
  return `0x${'11'.repeat(64)}${result.slice(130)}`;
}

const plusOne = (word: string): string =>
  (BigInt(`0x${word}`) + 1n).toString(16).padStart(64, '0').slice(-64);

/** Digits of an answer of the reader before its balances: `0x`, the block's number and three
 * hashes. */
const READER_HEAD_DIGITS = 2 + 4 * 64;

/** Changes a plain answer, or every balance in an answer of the reader (66 digits each). */
function liedAbout(result: unknown, change: (word: string) => string): unknown {
  if (typeof result !== 'string') return result;
  if (result.length === 66) return `0x${change(result.slice(2))}`;
  if (result.length <= READER_HEAD_DIGITS || (result.length - READER_HEAD_DIGITS) % 66 !== 0) return result;
  let lied = result.slice(0, READER_HEAD_DIGITS);
  for (let at = READER_HEAD_DIGITS; at < result.length; at += 66)
    lied += result.slice(at, at + 2) + change(result.slice(at + 2, at + 66));
  return lied;
}

async function textOf(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks).toString();
}

async function listen(server: Server, port: number): Promise<void> {
  server.listen(port, '127.0.0.1');
  await once(server, 'listening');
}

async function close(server: Server, sockets: ReadonlySet<Socket>): Promise<void> {
  const closed = once(server, 'close');
  server.close();
  for (const socket of sockets) socket.destroy();
  await closed;
}
