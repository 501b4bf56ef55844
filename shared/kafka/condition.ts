/** Something that some wait for to hold. */
export type Condition = {
  /** Resolves once it holds: at once, or at a later look. */
  readonly wait: () => Promise<void>;
  /** Called whenever it may have come to hold. */
  readonly look: () => void;
};

/**
 * @example
 * const idle = makeCondition(() => workingCount === 0);
 * await idle.wait(); // resolves when somebody calls idle.look() and nothing works
 */
export function makeCondition(holds: () => boolean): Condition {
  let waiting: (() => void)[] = [];
  return {
    wait: () => (holds() ? Promise.resolve() : new Promise((resolve) => waiting.push(resolve))),
    look: () => {
      if (waiting.length === 0 || !holds()) return;
      for (const resolve of waiting) resolve();
      waiting = [];
    },
  };
}
