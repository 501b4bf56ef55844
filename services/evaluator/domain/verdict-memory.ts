import type { CheckRequested } from '#shared/contracts/check-requested.ts';
import type { Rule } from '#shared/contracts/rule.ts';

/** Verdicts that are remembered; a power of two. With the tag of 31 bits beside each: 1 MiB, for ever. */
const PLACES = 2 ** 18;
const TAG_BITS = 31;

/** What became of a verdict that this process had given before. */
export type Repeat = 'same' | 'granted-to-denied' | 'denied-to-granted';

/**
 * Remembers the last verdict on each question (account, rule, block tag), so that flips can be counted.
 *
 * A table of fixed size, without keys: a question has one place by its hash, and a tag of 31 other bits of it tells
 * whose verdict stands there. The newest one stays. Two questions are mistaken for each other once in 2³¹.
 * It knows what this process has judged, so what it counts are shares (flips of repeats), not totals of the pool.
 *
 * @example
 * const memory = new VerdictMemory();
 * memory.note(check, rule, true); // undefined: never seen
 * memory.note(check, rule, false); // 'granted-to-denied'
 */
export class VerdictMemory {
  readonly #places = new Uint32Array(PLACES);

  note(
    { account, consistency }: Pick<CheckRequested, 'account' | 'consistency'>,
    rule: Rule,
    granted: boolean,
  ): Repeat | undefined {
    const question = `${account} ${consistency.blockTag} ${rule.type} ${rule.chainId} ${rule.contractAddress ?? ''} ${rule.tokenId ?? ''} ${rule.minToken} ${rule.maxToken ?? ''}`;
    const [high, low] = hash(question.toLowerCase());
    const place = high & (PLACES - 1);
    // Never 0, which is an empty place.
    const tag = low >>> (32 - TAG_BITS) || 1;
    const entry = ((tag << 1) | (granted ? 1 : 0)) >>> 0;
    const known = this.#places[place] ?? 0;
    this.#places[place] = entry;
    if (known >>> 1 !== tag) return undefined;
    if (known === entry) return 'same';
    return granted ? 'denied-to-granted' : 'granted-to-denied';
  }
}

/** Two hashes of 32 bits: FNV-1a from two offsets, each mixed at the end as in MurmurHash3. */
function hash(text: string): readonly [number, number] {
  let a = 0x811c9dc5;
  let b = 0x01000193;
  for (let i = 0; i < text.length; i++) {
    const code = text.charCodeAt(i);
    a = Math.imul(a ^ code, 0x01000193);
    b = Math.imul(b ^ code, 0x85ebca6b);
  }
  return [mix(a), mix(b)];
}

function mix(value: number): number {
  const once = Math.imul(value ^ (value >>> 16), 0x85ebca6b);
  const twice = Math.imul(once ^ (once >>> 13), 0xc2b2ae35);
  return (twice ^ (twice >>> 16)) >>> 0;
}
