import { AsyncLocalStorage } from 'node:async_hooks';
import { lookup as lookupBySystem, Resolver } from 'node:dns/promises';
import { isIP, type LookupFunction, type Socket } from 'node:net';
import { DEFAULT_CIPHERS } from 'node:tls';
import { buildConnector } from 'undici';
import { type Cidr, refuseAddress } from '#shared/contracts/webhooks/callback-address.ts';
import type { AppOwner } from '#shared/fairness/fair-shares.ts';
import { FairTaskQueue } from '#shared/fairness/fair-task-queue.ts';

/** A name with more addresses is refused. */
const ADDRESSES_MAX = 32;
const RESOLVE_TIMEOUT_MS = 2_000;
const RESOLVE_TRIES = 2;
const SYSTEM_LOOKUPS = {
  atOnceMax: 2,
  waitingMax: 1_000,
  refusal: 'too many names wait for the system lookup',
};
/**
 * Without finite-field Diffie-Hellman: the receiver would choose the group, and one of 10 000 bits
 * holds this process for 0.6 s at each handshake. Every server of the last decade has an elliptic
 * curve.
 */
const CIPHERS = `${DEFAULT_CIPHERS}:!kDHE`;
/** Pause before the next address of a name is tried as well. */
const NEXT_ADDRESS_MS = 250;

/** The error of a refused or unresolved address. `classifyErrorCode` reads the code. */
const connectError = (code: string, message: string) => Object.assign(new Error(message), { code });

/**
 * The owner of the attempt that dials. undici tells its connector nothing about the request; a
 * connection that is opened again for waiting requests has the owner of an earlier attempt at the
 * same origin.
 */
export const dialOwner = new AsyncLocalStorage<AppOwner>();

/** All addresses of a name, in text form. Rejects with a `dns` error. */
type ResolveHost = (hostname: string) => Promise<readonly string[]>;

type Options = {
  readonly allowed: readonly Cidr[];
  readonly allowHttp: boolean;
  readonly connectTimeoutMs: number;
  readonly resolve: ResolveHost;
};

/**
 * Makes a connector for undici that dials only checked addresses. A literal is checked at once, a
 * name after it is resolved; one refused address refuses the whole name. The socket's lookup
 * returns the checked addresses, so the name is not resolved a second time (DNS rebinding), and TLS
 * still gets the original server name. The peer's address is checked again once connected.
 *
 * @example
 * new Agent({ connect: makeGuardedConnector({ allowed: [], allowHttp: false, connectTimeoutMs: 5000, resolve: makeResolveHost([]) }) });
 */
export function makeGuardedConnector(options: Options): buildConnector.connector {
  const { allowed } = options;
  const connect = buildConnector({
    allowH2: false,
    ciphers: CIPHERS,
    timeout: options.connectTimeoutMs,
    autoSelectFamily: true,
    autoSelectFamilyAttemptTimeout: NEXT_ADDRESS_MS,
    lookup: makeGuardedLookup(allowed, options.resolve),
  });
  return (target, callback) => {
    // `net` calls no lookup for a literal, so a literal is checked here.
    const literal = target.hostname.replace(/^\[|\]$/g, '');
    const isRefused = isIP(literal) !== 0 && refuseAddress(literal, allowed) !== undefined;
    if (isRefused || (target.protocol !== 'https:' && !options.allowHttp)) return callback(refused(), null);
    connect(target, (...[error, socket]) => {
      if (error !== null) return callback(error, null);
      const peer = (socket as Socket).remoteAddress;
      if (peer === undefined || refuseAddress(peer, allowed) !== undefined) {
        socket.destroy();
        return callback(refused(), null);
      }
      callback(null, socket);
    });
  };
}

const refused = () => connectError('ERR_ADDRESS_REFUSED', 'the callback address is not allowed');

function makeGuardedLookup(allowed: readonly Cidr[], resolve: ResolveHost): LookupFunction {
  const judged = async (hostname: string) => {
    const addresses = await resolve(hostname);
    if (addresses.length === 0) throw connectError('ENOTFOUND', 'the name has no address');
    // The number first: DNS answers have room for thousands, and each is compared with many blocks.
    if (addresses.length > ADDRESSES_MAX) throw refused();
    if (addresses.some((address) => refuseAddress(address, allowed) !== undefined)) throw refused();
    return addresses.map((address) => ({ address, family: isIP(address) }));
  };
  return (hostname, options, callback) => {
    judged(hostname).then(
      (addresses) => {
        const [first] = addresses;
        if (options.all === true) callback(null, addresses);
        else callback(null, first?.address ?? '', first?.family);
      },
      (error: NodeJS.ErrnoException) => callback(error, '', 0),
    );
  };
}

/** Of one client app, names of one domain share a queue: many names are cheap for their owner. */
const domainOf = (hostname: string): string => hostname.split('.').slice(-2).join('.');

/**
 * Resolves names by DNS, both families at once, and by the system (a hosts file) if DNS has no
 * answer.
 *
 * DNS is asked by c-ares, which does not occupy libuv's four threads. The system's lookup occupies
 * one until it ends, and a DNS server that hangs can make that long: two at most are used, so the
 * others remain for Redis and Kafka.
 *
 * @param servers `address[:port]` of the DNS servers; empty: the system's servers
 */
export function makeResolveHost(servers: readonly string[]): ResolveHost {
  const resolver = new Resolver({ timeout: RESOLVE_TIMEOUT_MS, tries: RESOLVE_TRIES });
  if (servers.length > 0) resolver.setServers(servers);
  const lookUp = makeSystemLookup();
  return async (hostname) => {
    const answers = await Promise.allSettled([resolver.resolve4(hostname), resolver.resolve6(hostname)]);
    const addresses = answers.flatMap((answer) => (answer.status === 'fulfilled' ? answer.value : []));
    if (addresses.length > 0) return addresses;
    const failures = answers.flatMap((answer) => (answer.status === 'rejected' ? [answer.reason] : []));
    const timedOut = failures.find(({ code }) => code === 'ETIMEOUT');
    if (timedOut !== undefined) throw connectError('ESERVFAIL', 'the name servers did not answer');
    if (servers.length > 0) throw failures[0] ?? connectError('ENOTFOUND', 'the name has no address');
    return lookUp(hostname);
  };
}

/** The system's look-ups, two at a time: accounts take turns, and so do the domains of the client
 * apps of one. */
export function makeSystemLookup(lookup: typeof lookupAll = lookupAll): ResolveHost {
  const lookups = new FairTaskQueue(SYSTEM_LOOKUPS);
  return async (hostname) => {
    const { accountId = '', clientId = '' } = dialOwner.getStore() ?? {};
    const owner = { accountId, clientId: `${clientId} ${domainOf(hostname)}` };
    const found = await lookups.run(owner, () => lookup(hostname));
    return found.map(({ address }) => address);
  };
}

const lookupAll = (hostname: string) => lookupBySystem(hostname, { all: true });
