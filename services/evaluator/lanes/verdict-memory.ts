import { hash } from 'node:crypto';
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
 * one. Two questions in the same slot are confused with a probability of 2⁻³¹. It covers only the
 * verdicts of this process, so its counts give the share of repeats that flipped, not totals over
 * all evaluators.
 *
 * @example
 * const memory = new VerdictMemory();
 * memory.note(check, rule, true); // undefined: never seen
 * memory.note(check, rule, false); // 'granted-to-denied'
 */
export class VerdictMemory {
  readonly #slots = new Uint32Array(SLOTS);

  note(check: Check, rule: Rule, granted: boolean): Repeat | undefined {
    const digest = hash('sha1', `${textOfCheck(check)}${textOf(rule)}`.toLowerCase(), 'buffer');
    const slot = digest.readUInt32BE(0) % SLOTS;
    // Never 0, which marks an empty slot.
    const tag = digest.readUInt32BE(4) >>> 1 || 1;
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
