import type { CheckRequested } from '#shared/contracts/checks/check-requested.ts';
import { isTokenRule, type Rule } from '#shared/contracts/rules/rule.ts';

const { imul } = Math;

/** Verdicts remembered, each with a 31-bit tag: 1 MiB in total. Must be a power of two. */
const SLOTS = 2 ** 18;
const TAG_BITS = 31;

type Check = Pick<CheckRequested, 'account' | 'accounts' | 'vaults' | 'consistency'>;
/** Two hashes of 32 bits. */
type Hashes = readonly [number, number];

/** How a verdict compares with the previous verdict on the same question. */
type Repeat = 'same' | 'granted-to-denied' | 'denied-to-granted';

/**
 * Remembers the last verdict on each question (wallets, rule, block), so that flips can be counted.
 *
 * A hash table of fixed size, without keys: the hash of a question selects its slot, and a tag of
 * 31 other bits of the hash identifies the question in the slot. A newer question overwrites the
 * older one. Two questions in the same slot are confused with a probability of 2⁻³¹. It covers only
 * the verdicts of this process, so its counts give the share of repeats that flipped, not totals
 * over all evaluators.
 *
 * @example
 * const memory = new VerdictMemory();
 * memory.note(check, rule, true); // undefined: never seen
 * memory.note(check, rule, false); // 'granted-to-denied'
 */
export class VerdictMemory {
  readonly #slots = new Uint32Array(SLOTS);
  /** The last check and its hashes: its rules are noted one after the other, and wallets and block
   * are the same for all. */
  #last: { readonly check: Check; readonly hashes: Hashes } | undefined;

  note(check: Check, rule: Rule, granted: boolean): Repeat | undefined {
    if (this.#last?.check !== check) this.#last = { check, hashes: hash(textOfCheck(check), OFFSETS) };
    const [high, low] = hash(textOf(rule), this.#last.hashes);
    const slot = mix(high) & (SLOTS - 1);
    // Never 0, which marks an empty slot.
    const tag = mix(low) >>> (32 - TAG_BITS) || 1;
    const entry = ((tag << 1) | (granted ? 1 : 0)) >>> 0;
    const known = this.#slots[slot] ?? 0;
    this.#slots[slot] = entry;
    if (known >>> 1 !== tag) return undefined;
    if (known === entry) return 'same';
    return granted ? 'denied-to-granted' : 'granted-to-denied';
  }
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

const OFFSETS: Hashes = [0x811c9dc5, 0x01000193];

/** Two FNV-1a hashes of a text without its letter case, which continue those of the text before
 * it. */
function hash(text: string, [first, second]: Hashes): Hashes {
  let a = first;
  let b = second;
  const lowerCase = text.toLowerCase();
  for (let i = 0; i < lowerCase.length; i++) {
    const code = lowerCase.charCodeAt(i);
    a = imul(a ^ code, 0x01000193);
    b = imul(b ^ code, 0x85ebca6b);
  }
  return [a, b];
}

/** Spreads a hash over all bits, as MurmurHash3 does at its end. */
function mix(value: number): number {
  const once = imul(value ^ (value >>> 16), 0x85ebca6b);
  const twice = imul(once ^ (once >>> 13), 0xc2b2ae35);
  return (twice ^ (twice >>> 16)) >>> 0;
}
