import { type FailedReading, failed, type Reading } from '../../domain/read.ts';

/** A failure that too little gas could explain: the read is repeated in isolation before its outcome is final. */
export type Suspect = {
  /** The outcome if it may not be read again. */
  readonly suspected: FailedReading;
};

/** The readings of a call in the order of its reads; `undefined`: not tried for lack of gas. */
export type BatchReadings = readonly (Reading | Suspect | undefined)[];

export const PERHAPS_OUT_OF_GAS: Suspect = { suspected: failed('not-read-alone') };
/** The call failed without a reason and without using much gas. */
export const PERHAPS_REVERTED: Suspect = { suspected: failed('call-reverted') };

export const isSuspect = (reading: Reading | Suspect | undefined): reading is Suspect =>
  reading !== undefined && 'suspected' in reading;
