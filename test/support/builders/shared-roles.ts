/**
 * A result whose rules share roles in every possible way: the verdicts that the examples fold are
 * compared with `SHARED_OUTCOMES`. Some names are also members of a plain object.
 */
export const SHARED_ROLES = {
  roles: [
    { id: 'gold', granted: true },
    { id: 'gold', granted: false },
    { id: 'vip', granted: false },
    { id: 'vip', granted: true },
    { id: 'granted-and-unread', granted: true },
    { id: 'denied-and-unread', granted: false },
    { id: '__proto__', granted: true },
    { id: 'silver', granted: false },
    { id: 'silver', granted: false },
  ],
  errors: ['granted-and-unread', 'denied-and-unread', 'unread', 'constructor'].map((roleId, ruleIndex) => ({
    ruleIndex,
    roleId,
    code: 'rpc-unavailable',
    message: 'No RPC endpoint of this chain gave an answer.',
    retryable: true,
    chainId: 1,
  })),
} as const;

/** Each role with its outcome; `null` if it could not be read. */
export const SHARED_OUTCOMES: readonly (readonly [string, boolean | null])[] = [
  ['gold', true],
  ['vip', true],
  ['granted-and-unread', true],
  ['denied-and-unread', null],
  ['unread', null],
  ['constructor', null],
  ['__proto__', true],
  ['silver', false],
];
