import ipaddr from 'ipaddr.js';
import { ServiceError } from '#shared/errors.ts';

type Address = ipaddr.IPv4 | ipaddr.IPv6;

/** A block of addresses: the base address and the length of its prefix in bits. */
export type Cidr = readonly [base: Address, prefixBits: number];

/** Most blocks in one allow list; each is compared with every address. */
const CIDRS_MAX = 64;

/** The only block that IANA has assigned as global unicast. */
const IPV6_GLOBAL_UNICAST: Cidr = ipaddr.parseCIDR('2000::/3');

/** ISATAP (RFC 5214): 0:5efe or 200:5efe in the middle of any prefix, an IPv4 address behind it. */
const embedsIsatap = (address: ipaddr.IPv6): boolean =>
  address.parts[5] === 0x5efe && (address.parts[4] === 0 || address.parts[4] === 0x0200);

const isInside = (address: Address, [base, prefixBits]: Cidr): boolean =>
  address.kind() === base.kind() && address.match(base, prefixBits);

/**
 * Parses a comma-separated list of CIDR blocks. A bare address is a block of one; empty text is an
 * empty list.
 *
 * @throws ServiceError `config-invalid` naming the place of the first wrong entry, never its text.
 *
 * @example
 * parseCidrs('127.0.0.0/8, ::1/128').length; // 2
 */
export function parseCidrs(text: string): Cidr[] {
  const entries = text.split(',').map((entry) => entry.trim());
  const cidrs = entries.flatMap((entry, index) => {
    if (entry === '') return [];
    const cidr = parseCidr(entry);
    if (cidr !== undefined) return [cidr];
    throw new ServiceError(
      'config-invalid',
      `entry ${index + 1} of the list is not a CIDR block such as 192.0.2.0/24`,
    );
  });
  if (cidrs.length > CIDRS_MAX) {
    throw new ServiceError('config-invalid', `the list holds more than ${CIDRS_MAX} CIDR blocks`);
  }
  return cidrs;
}

function parseCidr(entry: string): Cidr | undefined {
  const base = entry.replace(/\/.*$/, '');
  if (!isStrictAddress(base)) return undefined;
  const text = base === entry ? `${base}/${base.includes(':') ? 128 : 32}` : entry;
  return ipaddr.isValidCIDR(text) ? ipaddr.parseCIDR(text) : undefined;
}

const isStrictAddress = (text: string): boolean =>
  ipaddr.IPv4.isValidFourPartDecimal(text) || ipaddr.IPv6.isValid(text);

/**
 * Judges an IP address in text form, as a resolver or a socket gives it (an IPv6 zone is refused).
 *
 * An address inside `allowed` passes; an IPv4-mapped one passes if its IPv4 address is inside.
 * Everything else that is not global unicast is refused: the blocks of IANA's special-purpose
 * registries, as ipaddr.js lists them, multicast, and all of IPv6 outside of 2000::/3.
 *
 * @returns the reason of the refusal, which never tells the addresses of a name, or `undefined` if
 *   the address may be dialled.
 *
 * @example
 * refuseAddress('169.254.169.254', []); // 'linkLocal'
 * refuseAddress('8.8.8.8', []); // undefined
 */
export function refuseAddress(text: string, allowed: readonly Cidr[]): string | undefined {
  if (!isStrictAddress(text)) return 'malformed-host';
  const address = ipaddr.parse(text);
  const unmapped = ipaddr.process(text);
  if (allowed.some((cidr) => isInside(address, cidr) || isInside(unmapped, cidr))) return undefined;
  const range = address.range();
  if (range !== 'unicast') return range;
  if (address instanceof ipaddr.IPv4) return undefined;
  if (address.zoneId !== undefined || !isInside(address, IPV6_GLOBAL_UNICAST)) return 'reserved';
  return embedsIsatap(address) ? 'embedded-ipv4' : undefined;
}

const LOCAL_NAME = /(^|\.)(localhost|local|internal)$/;

/**
 * Judges the host of a callback address without DNS: literals in every form (decimal, octal, hex,
 * short, full-width digits, bracketed IPv6) and names that are local by definition. Any other name
 * passes here and is judged at each attempt, on every address that it resolves to.
 *
 * @param hostname `URL.hostname`, or the host as somebody wrote it.
 * @returns the reason of the refusal, or `undefined` if the host is acceptable.
 *
 * @example
 * refuseCallbackHost('0x7f.1', []); // 'loopback'
 * refuseCallbackHost('[::1]', parseCidrs('::1/128')); // undefined
 * refuseCallbackHost('hooks.example.com', []); // undefined
 */
export function refuseCallbackHost(hostname: string, allowed: readonly Cidr[]): string | undefined {
  const host = normaliseHost(hostname);
  if (host === undefined) return 'malformed-host';
  if (host.startsWith('[')) return refuseAddress(host.slice(1, -1), allowed);
  if (ipaddr.IPv4.isValidFourPartDecimal(host)) return refuseAddress(host, allowed);
  return LOCAL_NAME.test(host) ? 'local-name' : undefined;
}

/** A host without user info, port, path, query or fragment; a colon only inside brackets. */
const HOST_ALONE = /^([^/?#@\\:[\]]+|\[[^/?#@\\[\]]+\])$/;

/** The host as the WHATWG URL standard writes it, without the root label's dot; `undefined` if it
 * is none. */
function normaliseHost(hostname: string): string | undefined {
  if (!HOST_ALONE.test(hostname)) return undefined;
  const url = URL.parse(`http://${hostname}/`);
  if (url === null) return undefined;
  const host = url.hostname.replace(/\.$/, '');
  return host === '' || host.endsWith('.') ? undefined : host;
}
