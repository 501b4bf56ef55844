import type { EarlierVersion } from './earlier-version.ts';
import type { Tally } from './tally.ts';

/** The parameters of both ways of upgrading. */
export type Run = {
  readonly earlier: EarlierVersion;
  readonly tally: Tally;
  readonly say: (line: string) => void;
  /** Ends the systems that were started: at the end, and where the run is interrupted. */
  readonly scope: AsyncDisposableStack;
};
