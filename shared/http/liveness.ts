/** True, or the fault as text. */
type LiveCheck = () => true | string;

/**
 * The checks of `/livez`: only faults that a restart fixes. An unavailable dependency is no such
 * fault, because it is still unavailable after the restart.
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
