import { InvalidArgumentError } from 'commander';

/** Parsers of numbers and instants on the command line. */

export const wholeNumber = (text: string): number => {
  if (!/^[0-9]{1,15}$/.test(text)) throw new InvalidArgumentError('It must be a whole number.');
  return Number(text);
};
/** A limit of 0 would be a suspension. */
export const figure = (text: string): number => {
  const count = wholeNumber(text);
  if (count < 1) throw new InvalidArgumentError('It must be at least 1.');
  return count;
};
export const figureUpTo =
  (max: number) =>
  (text: string): number => {
    const count = figure(text);
    if (count > max) throw new InvalidArgumentError(`It must be at most ${max}.`);
    return count;
  };
export const instant = (text: string): number => {
  const ms = Date.parse(text);
  if (Number.isNaN(ms))
    throw new InvalidArgumentError('It must be an ISO 8601 instant such as 2026-11-21T10:00:00Z.');
  return ms;
};
