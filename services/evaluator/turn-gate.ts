import type { Lane } from '#shared/contracts/check-requested.ts';

/** Checks that are ended in one turn of the event loop: some milliseconds of work. */
const PASSES_PER_TURN = 64;

/**
 * Lets as many pass in a turn of the event loop as keep it short; the others wait for the next turns, those of the
 * interactive lane first.
 *
 * One answer of a chain ends every check that asked for the same: thousands at once, where one client checks one
 * wallet over and over. Ended in one turn, they would keep everybody else waiting, those of other clients too.
 *
 * @example
 * const gate = makeTurnGate();
 * await gate.pass('bulk');
 */
export function makeTurnGate() {
  const waiting: Record<Lane, (() => void)[]> = { interactive: [], bulk: [] };
  let passed = 0;
  let isTurnDue = false;

  const scheduleTurn = (): void => {
    if (isTurnDue) return;
    isTurnDue = true;
    setImmediate(beginTurn);
  };
  const beginTurn = (): void => {
    isTurnDue = false;
    const next = waiting.interactive.splice(0, PASSES_PER_TURN);
    next.push(...waiting.bulk.splice(0, PASSES_PER_TURN - next.length));
    passed = next.length;
    if (passed > 0) scheduleTurn();
    for (const resolve of next) resolve();
  };

  return {
    /** Nothing to wait for while the turn has room. */
    pass(lane: Lane): Promise<void> | undefined {
      scheduleTurn();
      if (passed < PASSES_PER_TURN) {
        passed++;
        return undefined;
      }
      return new Promise((resolve) => waiting[lane].push(resolve));
    },
  };
}
