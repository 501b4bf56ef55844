import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import ipaddr from 'ipaddr.js';
import { parseAllDocuments } from 'yaml';
import { type Cidr, refuseAddress } from '#shared/contracts/webhooks/callback-address.ts';
import type { Manifest } from '../k8s/judge-manifests.ts';
import { DEPLOY } from '../support/judges/monitoring-files.ts';

// The network policies are the second check of where the dispatcher connects to: they allow the
// addresses that it allows.

const policies = parseAllDocuments(readFileSync(join(DEPLOY, 'k8s', 'network-policies.yaml'), 'utf8')).map(
  (document) => document.toJS() as Manifest,
);
const blocksOf = (policy: Manifest) =>
  (policy.spec.egress ?? []).flatMap(({ to = [] }) => to.flatMap(({ ipBlock }) => ipBlock ?? []));
const outside = policies.filter(({ metadata }) => metadata.name === 'outside').flatMap(blocksOf);

const cidrOf = (text: string): Cidr => ipaddr.parseCIDR(text);
const isInside = (address: Cidr[0], [base, bits]: Cidr): boolean =>
  address.kind() === base.kind() && address.match(base, bits);
const isAllowed = (address: Cidr[0]): boolean =>
  outside.some(
    ({ cidr, except = [] }) =>
      isInside(address, cidrOf(cidr)) && !except.some((each) => isInside(address, cidrOf(each))),
  );

/** The blocks by which an address is judged, which the types of ipaddr.js do not have. */
const specialBlocks = [ipaddr.IPv4, ipaddr.IPv6].flatMap(({ prototype }) =>
  Object.values(
    (prototype as unknown as { SpecialRanges: Record<string, Cidr | Cidr[]> }).SpecialRanges,
  ).flatMap((blocks) => (Array.isArray(blocks[0]) ? blocks : [blocks]) as Cidr[]),
);

/** The first and the last address of a block, and their neighbours outside of it. */
function edgesOf([base, bits]: Cidr): Cidr[0][] {
  const bytes = base.toByteArray();
  const length = BigInt(bytes.length * 8);
  const whole = 1n << length;
  const size = 1n << (length - BigInt(bits));
  const value = bytes.reduce((sum, byte) => sum * 256n + BigInt(byte), 0n);
  const first = (value / size) * size;
  return [first - 1n, first, first + size - 1n, first + size].map((edge) => {
    const text = ((edge + whole) % whole).toString(16).padStart(bytes.length * 2, '0');
    return ipaddr.fromByteArray(text.match(/../g)?.map((byte) => Number.parseInt(byte, 16)) ?? []);
  });
}

test('the policy for the way outside allows the addresses that the dispatcher allows, at every edge of a block', () => {
  const blocks = outside.flatMap(({ cidr, except = [] }) => [cidr, ...except].map(cidrOf));
  const edges = [...blocks, ...specialBlocks].flatMap(edgesOf);
  expect(edges.length).toBeGreaterThan(150);
  expect(edges.filter(isAllowed).length).toBeGreaterThan(20);
  const judged = edges.map((address) => [address.toString(), isAllowed(address)]);
  expect(judged).toEqual(judged.map(([text]) => [text, refuseAddress(String(text), []) === undefined]));
});

test('only the policy for the way outside names addresses', () => {
  const named = policies.filter((policy) => blocksOf(policy).length > 0).map(({ metadata }) => metadata.name);
  expect(named).toEqual(['outside']);
});
