/** One entry of `errors`, or of `roles` and `errors`, without its role id: the longest message and a path included. */
const RULE_BYTES = 520;
/** The members of a line beside its wallets, `ref`, `roles` and `errors`. */
const LINE_BYTES = 400;
/** Header, signature, blocks and the other claims of a signed verdict, encoded. */
const PROOF_BYTES = 1_500;
const BASE64_FACTOR = 4 / 3;

const bytesOf = (value: unknown): number => Buffer.byteLength(JSON.stringify(value));

/**
 * Bounds the bytes of an entry's line in the results: every rule with an error and, under `onUndetermined: "deny"`,
 * a verdict too.
 *
 * @param roleIds of each rule, in any order
 * @returns the bound of an entry, by its own bytes as JSON
 * @example
 * const boundOf = boundResults({ roleIds: ['holder'], hasProof: false });
 * boundOf(56); // 1000 or so
 */
export function boundResults({
  roleIds,
  hasProof,
}: {
  readonly roleIds: readonly string[];
  readonly hasProof: boolean;
}): (entryBytes: number) => number {
  // A role id is in `roles` and in `errors`; in a signed verdict up to twice as well.
  const roleBytes = roleIds.reduce((sum, id) => sum + 2 * bytesOf(id), 0);
  const rulesBytes = roleIds.length * RULE_BYTES + roleBytes;
  return (entryBytes) => {
    const proofBytes = hasProof ? PROOF_BYTES + BASE64_FACTOR * (2 * entryBytes + roleBytes) : 0;
    return LINE_BYTES + entryBytes + rulesBytes + proofBytes;
  };
}
