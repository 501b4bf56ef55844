import { type Command, InvalidArgumentError, Option } from 'commander';
import type { z } from 'zod';
import { KeyPermissions } from '#shared/contracts/apps/client-app.ts';
import { judgeSignInDomains } from '#shared/contracts/sign-in/sign-in-domain.ts';
import type { OpenSystem } from './open-system.ts';

/** A value that is printed as it is made, one line after the other. */
export type PrintLines = (write: (line: string) => Promise<void>) => Promise<void>;

/** Prints the value of a subcommand that needs no system: a text as it is, anything else as
 * JSON. */
export type Print = (value: unknown) => void;

/** Runs a subcommand's work on an open system; its value is printed, as JSON with `--json`, or line
 * by line if it is `PrintLines`. */
export type Run = (work: (system: OpenSystem) => Promise<unknown>) => Promise<void>;

/** The work of a subcommand: it gets the arguments in their order, then the options. */
type Work = (system: OpenSystem, ...given: never[]) => Promise<unknown>;

/** Makes the function that adds a subcommand to a command: `list <id>`, and its work. */
export const adderTo =
  (command: Command, run: Run) =>
  (usage: string, work: Work): Command =>
    command.command(usage).action((...given) => run((system) => work(system, ...(given as never[]))));
/** The same for a new group of subcommands. */
export const addGroup = (program: Command, run: Run, name: string, description: string) =>
  adderTo(program.command(name).description(description), run);

/** Whether the operator confirms that the owner of the account is known. */
export type Vouch = { readonly vouch: boolean };
export const vouchOption = () =>
  new Option('--vouch', 'accept an account that signed up by itself: you know its owner').default(false);

/** Makes a parser of an argument: `parse` returns undefined for text that it refuses with
 * `message`. */
const parser =
  <T>(message: string, parse: (text: string) => T | undefined) =>
  (text: string): T => {
    const value = parse(text);
    if (value === undefined) throw new InvalidArgumentError(message);
    return value;
  };

/** @param min 1 for a limit: 0 would be a suspension */
export const wholeNumber = (min = 0, max = Number.MAX_SAFE_INTEGER) =>
  parser(`It must be a whole number from ${min} to ${max}.`, (text) => {
    const number = /^[0-9]{1,15}$/.test(text) ? Number(text) : -1;
    return number >= min && number <= max ? number : undefined;
  });
export const instant = parser('It must be an ISO 8601 instant such as 2026-11-21T10:00:00Z.', (text) => {
  const ms = Date.parse(text);
  return Number.isNaN(ms) ? undefined : ms;
});
/** A text as the portal's forms take it. */
export const formText = (schema: z.ZodType<string>) => (text: string) => {
  const { data, error } = schema.safeParse(text);
  if (error) throw new InvalidArgumentError(error.issues[0]?.message ?? '');
  return data;
};
export const keyPermissions = parser(
  'It must be a list of check, read and manage, such as check,read.',
  (text) => KeyPermissions.safeParse(text.split(',')).data,
);
export function signInDomains(text: string): readonly string[] {
  const judged = judgeSignInDomains(text.trim() === '' ? [] : text.split(','));
  if ('fault' in judged) throw new InvalidArgumentError(judged.fault);
  return judged.domains;
}
const UNITS = { s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 } as const;
/** A span in ms, of at most a year. */
export const duration = parser('It must be a duration such as 90s, 30m, 24h or 7d.', (text) => {
  const [, count, unit] = /^([0-9]{1,8})([smhd])$/.exec(text) ?? [];
  const ms = Number(count) * UNITS[unit as keyof typeof UNITS];
  return ms <= 366 * UNITS.d ? ms : undefined;
});
/** The name of an actor: it cannot be taken for the id of an account or a key, or for the portal. */
export const actorName = parser(
  'It must have 1 to 64 letters, digits and "._@+-", and be no id of an account or key.',
  (text) => (/^(?!(acc|app|key)_|portal$)[\w.@+-]{1,64}$/.test(text) ? text : undefined),
);
