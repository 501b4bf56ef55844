/** Counts kept and broken guarantees, and names each failure. */
export type Tally = {
  /** Counts one guarantee: it holds if `look` returns, and fails with the message of what it throws. */
  readonly check: (guarantee: string, look: () => unknown) => Promise<void>;
  readonly passed: () => number;
  readonly failed: () => number;
};

/**
 * @example
 * await tally.check(`the result of ${id} is unchanged`, async () => assert.equal(await read(id), text));
 */
export function makeTally(say: (line: string) => void): Tally {
  let passed = 0;
  let failed = 0;
  return {
    async check(guarantee, look) {
      try {
        await look();
        passed++;
      } catch (error) {
        failed++;
        say(`FAILED ${guarantee}: ${error instanceof Error ? error.message : String(error)}`);
      }
    },
    passed: () => passed,
    failed: () => failed,
  };
}
