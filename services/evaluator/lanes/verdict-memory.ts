import type { CheckRequested } from '#shared/contracts/checks/check-requested.ts';
import { isTokenRule, type Rule } from '#shared/contracts/rules/rule.ts';

/** Verdicts remembered, each with a 31-bit tag: 1 MiB in total. Must be a power of two. */
const SLOTS = 2 ** 18;

type Check = Pick<CheckRequested, 'account' | 'accounts' | 'vaults' | 'consistency'>;

/** How a verdict compares with the previous verdict on the same question. */
type Repeat = 'same' | 'granted-to-denied' | 'denied-to-granted';

/**
 * Remembers the last verdict on each question (wallets, rule, block), so that flips can be counted.
 *
 * A hash table of fixed size, without keys: the digest of a question selects its slot, and a tag of
 * 31 other bits of it identifies the question in the slot. A newer question overwrites the older
 * one. Two questions in the same slot are confused with a probability of 2⁻³¹, or if somebody makes
 * them so: the digest is quick, not cryptographic, and only figures depend on it. It covers the
 * verdicts of this process alone, so its counts give the share of repeats that flipped, not totals
 * over all evaluators.
 *
 * @example
 * const note = new VerdictMemory().ofCheck(check);
 * note(rule, true); // undefined: never seen
 * note(rule, false); // 'granted-to-denied'
 */
export class VerdictMemory {
  readonly #slots = new Uint32Array(SLOTS);

  ofCheck(check: Check): (rule: Rule, granted: boolean) => Repeat | undefined {
    const ofCheck = digest(textOfCheck(check));
    return (rule, granted) => this.#note(digest(textOf(rule), ofCheck), granted);
  }

  #note([place, name]: Digest, granted: boolean): Repeat | undefined {
    const slot = place % SLOTS;
    // Never 0, which marks an empty slot.
    const tag = name >>> 1 || 1;
    const entry = ((tag << 1) | (granted ? 1 : 0)) >>> 0;
    const known = this.#slots[slot] ?? 0;
    this.#slots[slot] = entry;
    if (known >>> 1 !== tag) return undefined;
    if (known === entry) return 'same';
    return granted ? 'denied-to-granted' : 'granted-to-denied';
  }
}

type Digest = readonly [place: number, name: number];

/** Two FNV-1a digests of 32 bits, by different odd factors, that continue the given ones; upper and
 * lower case are the same. */
function digest(text: string, [place, name]: Digest = [0x811c9dc5, 0x9e3779b9]): Digest {
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at) | 0x20;
    place = Math.imul(place ^ code, 0x01000193);
    name = Math.imul(name ^ code, 0x85ebca6b);
  }
  // The low bits of a product depend on the low bits of its factors alone.
  return [(place ^ (place >>> 15)) >>> 0, (name ^ (name >>> 15)) >>> 0];
}

function textOfCheck({ account, accounts = [account], vaults = [], consistency }: Check): string {
  const block = JSON.stringify(consistency.atBlock) ?? consistency.blockTag;
  return `${accounts} ${vaults} ${block} `;
}

/** The condition of a rule, without the role that it grants. */
function textOf(rule: Rule): string {
  if (isTokenRule(rule))
    return `${rule.type} ${rule.chainId} ${rule.contractAddress ?? ''} ${rule.tokenId ?? ''} ${rule.minToken} ${rule.maxToken ?? ''}`;
  return JSON.stringify({ ...rule, roleId: undefined });
}
