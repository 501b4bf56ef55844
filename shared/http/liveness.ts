/** True while the part makes progress, otherwise the fault. */
type LiveCheck = () => true | string;

/**
 * The conditions of liveness: only faults that a restart repairs. A dependency that is away is
 * never among it, for it would still be away after the restart.
 */
export class Liveness {
  readonly #checks = new Map<string, LiveCheck>();

  /** A check is cheap: it looks at state, it does no I/O. */
  add(name: string, check: LiveCheck): void {
    this.#checks.set(name, check);
  }

  /** The faults, by the names of the checks; nothing while the process is well. */
  faults(): Record<string, string> {
    const answers = [...this.#checks].map(([name, check]) => [name, check()] as const);
    return Object.fromEntries(answers.filter((answer): answer is [string, string] => answer[1] !== true));
  }
}
