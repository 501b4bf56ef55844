import type { Request } from 'express';
import ipaddr from 'ipaddr.js';
import type { AppOwner } from '#shared/fairness/fair-shares.ts';
import type { Logger } from '#shared/telemetry/log.ts';
import { makeLogThrottle } from '#shared/telemetry/log-throttle.ts';

/** A provider hands out whole IPv6 networks of this size, so one person has every address in one of
 * them. */
const IPV6_PREFIX_BITS = 64;
/** Providers give a site up to this many of them (RFC 6177), for nothing or little. */
const IPV6_SITE_BITS = 48;
const WARNING_INTERVAL_MS = 60_000;

/** Some proxies write the port into `X-Forwarded-For`; it changes with every connection. */
const WITH_PORT = /^(?:\[([^\]]+)\](?::\d+)?|(\d+\.\d+\.\d+\.\d+):\d+)$/;

/**
 * The text under which a client's address is counted: an IPv4 address as it is, an IPv6 address by
 * its /64 network. Everything that is not an address counts as one and the same client.
 *
 * @example
 * addressKey('::ffff:192.0.2.1'); // '192.0.2.1'
 * addressKey('2001:db8:1:2:3:4:5:6'); // '2001:db8:1:2::/64'
 */
export const addressKey = (address: string | undefined): string => networkOf(address, IPV6_PREFIX_BITS);

/**
 * The visitor at an address, for queues and budgets: the site, which has 65 536 addresses of IPv6 to
 * choose from, stands where customers have their account.
 *
 * @example
 * visitorOf('2001:db8:1:2:3:4:5:6'); // { accountId: '2001:db8:1::/48', clientId: '2001:db8:1:2::/64' }
 */
export const visitorOf = (address: string | undefined): AppOwner => ({
  accountId: networkOf(address, IPV6_SITE_BITS),
  clientId: addressKey(address),
});

function networkOf(address: string | undefined, prefixBits: number): string {
  const [, bracketed, dotted] = WITH_PORT.exec(address ?? '') ?? [];
  const text = bracketed ?? dotted ?? address ?? '';
  if (!ipaddr.IPv4.isValidFourPartDecimal(text) && !ipaddr.IPv6.isValid(text)) return 'unknown';
  const parsed = ipaddr.process(text);
  if (parsed instanceof ipaddr.IPv4) return parsed.toString();
  // NAT64 puts every IPv4 address into one /64 network.
  if (parsed.range() === 'rfc6052') return new ipaddr.IPv4(parsed.toByteArray().slice(-4)).toString();
  const network = parsed.parts.map((part, index) => (index < prefixBits / 16 ? part : 0));
  return `${new ipaddr.IPv6(network).toString()}/${prefixBits}`;
}

type Dependencies = {
  readonly log: Pick<Logger, 'warn'>;
  readonly count: { readonly inc: () => void };
};

/**
 * Notices `X-Forwarded-For` from a sender that `TRUSTED_PROXIES` does not name. It is ignored, so
 * behind such a proxy all clients are one address and use up each other's bounds: each such request
 * is counted, one a minute is logged.
 */
export function makeForwardedForNotice({ log, count }: Dependencies): (request: Request) => void {
  const suppressedCount = makeLogThrottle(WARNING_INTERVAL_MS);
  return (request) => {
    if (request.headers['x-forwarded-for'] === undefined) return;
    const peer = request.socket.remoteAddress ?? '';
    const isTrusted = request.app.get('trust proxy fn') as (address: string, hop: number) => boolean;
    if (isTrusted(peer, 0)) return;
    count.inc();
    const others = suppressedCount();
    if (others !== undefined)
      log.warn(
        { peer, others },
        'X-Forwarded-For ignored: TRUSTED_PROXIES does not name its sender, so all clients behind it count as one address',
      );
  };
}
