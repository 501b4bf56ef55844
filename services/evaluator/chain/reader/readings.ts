import { type FailedReading, failed, type Reading } from '../../domain/read.ts';

/**
 * Why a read must be repeated before its outcome is final: it used up its gas; it failed without a
 * reason, which too little gas could explain; or it reverted, and the contract may answer
 * differently to a caller without code.
 */
export type Suspicion = 'gas' | 'revert' | 'caller';
export type Suspect = {
  readonly suspicion: Suspicion;
  /** The outcome if it may not be read again. */
  readonly suspected: FailedReading;
};

/** The readings of a call in the order of its reads; `undefined`: not tried for lack of gas. */
export type BatchReadings = readonly (Reading | Suspect | undefined)[];

export const PERHAPS_OUT_OF_GAS: Suspect = { suspicion: 'gas', suspected: failed('not-read-alone') };
/** The call failed without a reason and without using much gas. */
export const PERHAPS_REVERTED: Suspect = { suspicion: 'revert', suspected: failed('call-reverted') };
/** The same of `ownerOf`: a plain call, which has the most gas, shows whether the contract
 * reverts. */
export const PERHAPS_NOT_OWNED: Suspect = { suspicion: 'revert', suspected: failed('not-read-alone') };
/** The call reverted, which decides a rule only if it also reverts for a caller without code. */
export const PERHAPS_FOR_CONTRACTS: Suspect = { suspicion: 'caller', suspected: failed('not-read-alone') };

/** One object for all wallets that hold nothing. */
export const NOTHING: Reading = Object.freeze({ ok: true, value: 0n });
/** A call that returned no data: of an address without code, which is no precompile, or of a contract
 * that returns none. */
export const RETURNED_NOTHING: FailedReading = Object.freeze({ ok: false, code: 'return-malformed' });
/** An id whose `ownerOf` reverts on an ERC721; another object than `NOTHING`, because it is
 * confirmed by a plain call. */
export const NOT_OWNED: Reading = Object.freeze({ ok: true, value: 0n });

/** What a call for reads answered, and whether the state that it read is identified as that of the
 * block. */
export type Answered = { readonly readings: BatchReadings; readonly hasState: boolean };

export const isValue = (
  reading: Reading | Suspect | undefined,
): reading is Extract<Reading, { readonly ok: true }> =>
  reading !== undefined && 'ok' in reading && reading.ok;

export const isSuspect = (reading: Reading | Suspect | undefined): reading is Suspect =>
  reading !== undefined && 'suspected' in reading;
