import type { CheckRequested } from '#shared/contracts/check-requested.ts';
import { isTokenRule, type Rule } from '#shared/contracts/rule.ts';

const { imul } = Math;

/** Verdicts remembered, each with a 31-bit tag: 1 MiB in total. Must be a power of two. */
const SLOTS = 2 ** 18;
const TAG_BITS = 31;

/** How a verdict compares with the previous verdict on the same question. */
type Repeat = 'same' | 'granted-to-denied' | 'denied-to-granted';

/**
 * Remembers the last verdict on each question (wallets, rule, block), so that flips can be counted.
 *
 * A hash table of fixed size, without keys: the hash of a question selects its slot, and a tag of 31 other bits of the
 * hash identifies the question in the slot. A newer question overwrites the older one. Two questions in the same slot are
 * confused with a probability of 2⁻³¹. It covers only the verdicts of this process, so its counts give the share of
 * repeats that flipped, not totals over all evaluators.
 *
 * @example
 * const memory = new VerdictMemory();
 * memory.note(check, rule, true); // undefined: never seen
 * memory.note(check, rule, false); // 'granted-to-denied'
 */
export class VerdictMemory {
  readonly #slots = new Uint32Array(SLOTS);

  note(
    check: Pick<CheckRequested, 'account' | 'accounts' | 'vaults' | 'consistency'>,
    rule: Rule,
    granted: boolean,
  ): Repeat | undefined {
    const { account, accounts = [account], vaults = [], consistency } = check;
    const block = JSON.stringify(consistency.atBlock) ?? consistency.blockTag;
    const question = `${accounts} ${vaults} ${block} ${textOf(rule)}`;
    const [high, low] = hash(question.toLowerCase());
    const slot = high & (SLOTS - 1);
    // Never 0, which marks an empty slot.
    const tag = low >>> (32 - TAG_BITS) || 1;
    const entry = ((tag << 1) | (granted ? 1 : 0)) >>> 0;
    const known = this.#slots[slot] ?? 0;
    this.#slots[slot] = entry;
    if (known >>> 1 !== tag) return undefined;
    if (known === entry) return 'same';
    return granted ? 'denied-to-granted' : 'granted-to-denied';
  }
}

/** The condition of a rule, without the role that it grants. */
function textOf(rule: Rule): string {
  if (isTokenRule(rule))
    return `${rule.type} ${rule.chainId} ${rule.contractAddress ?? ''} ${rule.tokenId ?? ''} ${rule.minToken} ${rule.maxToken ?? ''}`;
  return JSON.stringify({ ...rule, roleId: undefined });
}

/** Two hashes of 32 bits: FNV-1a from two offsets, each mixed at the end as in MurmurHash3. */
function hash(text: string): readonly [number, number] {
  let a = 0x811c9dc5;
  let b = 0x01000193;
  for (let i = 0; i < text.length; i++) {
    const code = text.charCodeAt(i);
    a = imul(a ^ code, 0x01000193);
    b = imul(b ^ code, 0x85ebca6b);
  }
  return [mix(a), mix(b)];
}

function mix(value: number): number {
  const once = imul(value ^ (value >>> 16), 0x85ebca6b);
  const twice = imul(once ^ (once >>> 13), 0xc2b2ae35);
  return (twice ^ (twice >>> 16)) >>> 0;
}
