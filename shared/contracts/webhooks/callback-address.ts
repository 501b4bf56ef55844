import ipaddr from 'ipaddr.js';
import { ServiceError } from '#shared/errors.ts';

type Address = ipaddr.IPv4 | ipaddr.IPv6;

/** A block of addresses: the base address and the length of its prefix in bits. */
export type Cidr = readonly [base: Address, prefixBits: number];

/** Why an address or a host is refused. Safe to show: it never tells the addresses of a name. */
type RefusalReason =
  | 'malformed-host'
  | 'local-name'
  | 'unspecified'
  | 'loopback'
  | 'private'
  | 'link-local'
  | 'multicast'
  | 'reserved'
  | 'embedded-ipv4';

/** Most blocks in one allow list; each is compared with every address. */
const CIDRS_MAX = 64;

const block = (text: string): Cidr => ipaddr.parseCIDR(text);

/**
 * IPv4 that is not global unicast: the IANA IPv4 Special-Purpose Address Registry (RFC 6890) where
 * "globally reachable" is false, with multicast (RFC 5771) and the retired 6to4 relay anycast (RFC
 * 7526).
 */
const IPV4_REFUSED: readonly (readonly [Cidr, RefusalReason])[] = [
  [block('0.0.0.0/8'), 'unspecified'],
  [block('10.0.0.0/8'), 'private'],
  [block('100.64.0.0/10'), 'private'],
  [block('127.0.0.0/8'), 'loopback'],
  [block('169.254.0.0/16'), 'link-local'],
  [block('172.16.0.0/12'), 'private'],
  [block('192.0.0.0/24'), 'reserved'],
  [block('192.0.2.0/24'), 'reserved'],
  [block('192.88.99.0/24'), 'reserved'],
  [block('192.168.0.0/16'), 'private'],
  [block('198.18.0.0/15'), 'reserved'],
  [block('198.51.100.0/24'), 'reserved'],
  [block('203.0.113.0/24'), 'reserved'],
  [block('224.0.0.0/4'), 'multicast'],
  [block('240.0.0.0/4'), 'reserved'],
];

/**
 * IPv6 blocks that are refused, each with its reason. The first match counts. An address outside of
 * this list and of 2000::/3, the only block that IANA has assigned as global unicast, is refused as
 * reserved.
 */
const IPV6_REFUSED: readonly (readonly [Cidr, RefusalReason])[] = [
  [block('::/128'), 'unspecified'],
  [block('::1/128'), 'loopback'],
  [block('::/96'), 'embedded-ipv4'], // IPv4-compatible, RFC 4291 2.5.5.1
  [block('::ffff:0:0/96'), 'embedded-ipv4'], // IPv4-mapped, RFC 4291 2.5.5.2
  [block('::ffff:0:0:0/96'), 'embedded-ipv4'], // IPv4-translated, RFC 2765
  [block('64:ff9b::/96'), 'embedded-ipv4'], // NAT64, RFC 6052
  [block('64:ff9b:1::/48'), 'embedded-ipv4'], // NAT64 of a local network, RFC 8215
  [block('2002::/16'), 'embedded-ipv4'], // 6to4, RFC 3056
  [block('2001::/32'), 'embedded-ipv4'], // Teredo, RFC 4380
  [block('2001::/23'), 'reserved'], // IETF protocol assignments, RFC 2928
  [block('2001:db8::/32'), 'reserved'], // documentation, RFC 3849
  [block('3fff::/20'), 'reserved'], // documentation, RFC 9637
  [block('fe80::/10'), 'link-local'],
  [block('fec0::/10'), 'private'], // site-local, deprecated by RFC 3879
  [block('fc00::/7'), 'private'],
  [block('ff00::/8'), 'multicast'],
];
const IPV6_GLOBAL_UNICAST = block('2000::/3');
export const JUDGED_BLOCKS: readonly Cidr[] = [
  ...[...IPV4_REFUSED, ...IPV6_REFUSED].map(([cidr]) => cidr),
  IPV6_GLOBAL_UNICAST,
];

/** ISATAP (RFC 5214): 0:5efe or 200:5efe in the middle of any prefix, an IPv4 address behind it. */
const embedsIsatap = (address: ipaddr.IPv6): boolean =>
  address.parts[5] === 0x5efe && (address.parts[4] === 0 || address.parts[4] === 0x0200);

const isInside = (address: Address, [base, prefixBits]: Cidr): boolean =>
  address.kind() === base.kind() && address.match(base, prefixBits);

const firstMatch = (
  address: Address,
  table: readonly (readonly [Cidr, RefusalReason])[],
): RefusalReason | undefined => table.find(([cidr]) => isInside(address, cidr))?.[1];

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
 * Everything else that is not global unicast is refused, so an unlisted block is refused too.
 *
 * @returns the reason of the refusal, or `undefined` if the address may be dialled.
 *
 * @example
 * refuseAddress('169.254.169.254', []); // 'link-local'
 * refuseAddress('8.8.8.8', []); // undefined
 */
export function refuseAddress(text: string, allowed: readonly Cidr[]): RefusalReason | undefined {
  if (!isStrictAddress(text)) return 'malformed-host';
  const address = ipaddr.parse(text);
  const unmapped = ipaddr.process(text);
  if (allowed.some((cidr) => isInside(address, cidr) || isInside(unmapped, cidr))) return undefined;
  if (address instanceof ipaddr.IPv4) return firstMatch(address, IPV4_REFUSED);
  const reason = firstMatch(address, IPV6_REFUSED);
  if (reason !== undefined) return reason;
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
export function refuseCallbackHost(hostname: string, allowed: readonly Cidr[]): RefusalReason | undefined {
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
