import type { BatchEntry } from '#shared/contracts/batches/batch.ts';
import { type Fault, faultAt, notKnown, pointerOf } from '#shared/contracts/fault.ts';
import { isAddressText } from '#shared/contracts/rules/address.ts';
import { MEMBER_CHANGES_MAX } from '#shared/contracts/watches/watch.ts';
import type { GiveWay } from '#shared/fairness/fair-ticks.ts';
import { invalidBody } from '#shared/http/problem.ts';
import { isObject } from '#shared/rules/validate-rules.ts';
import {
  type MemberChanges,
  memberIdOf,
  memberIdOfText,
} from '#shared/stores/watches/members/write-watch-members.ts';
import { FAULTS_MAX } from '../batches/collect-batch.ts';
import {
  type Arriving,
  type BodyFormat,
  LINE_BYTES_MAX,
  receiveJson,
  receiveLines,
  takeEach,
} from '../batches/receive-values.ts';
import { validateEntry } from '../batches/validate-entry.ts';

/** A ref, or an account in lower or mixed case. */
export const MEMBER_ID = /^[\u0021-\u007e]{1,128}$/;

type Path = readonly PropertyKey[];

/**
 * Receives changes of members: parses the body as it arrives, and validates it. Other requests have
 * their turn every few milliseconds: ten thousand members can have 320 000 wallets, whose checksums
 * take seconds.
 *
 * @throws Problem `malformed-json`, `body-too-large`, `validation-failed` with every fault, and the
 *   errors of the chunks
 */
export async function receiveMembers(format: BodyFormat, body: Arriving): Promise<MemberChanges> {
  const collector = new MemberCollector();
  if (format === 'json') await collectJson(await receiveJson(body), collector, body.giveWay);
  else
    await receiveLines(
      body,
      () => LINE_BYTES_MAX,
      (line, index) => collectLine(line, index, collector),
    );
  return collector.end();
}

/** Collects the changes of a body, and its faults. */
class MemberCollector {
  readonly #add: BatchEntry[] = [];
  readonly #remove: string[] = [];
  readonly #places = new Map<string, Path>();
  readonly #faults: Fault[] = [];
  #count = 0;

  add(value: unknown, path: Path): void {
    this.#countOne(path);
    const validated = validateEntry(value, path);
    const fault = validated.ok ? faultOfMember(validated.value, path) : undefined;
    if (!validated.ok) this.refuse(validated.faults);
    else if (fault) this.refuse([fault]);
    else {
      this.#place(memberIdOf(validated.value), path);
      this.#add.push(validated.value);
    }
  }

  remove(value: unknown, path: Path): void {
    this.#countOne(path);
    if (typeof value !== 'string' || !MEMBER_ID.test(value)) {
      this.refuse([faultAt(pointerOf(path), 'malformed', 'must be the ref or the account of a member')]);
      return;
    }
    this.#place(memberIdOfText(value), path);
    this.#remove.push(value);
  }

  /** Adds faults; throws when there are as many as one answer lists. */
  refuse(faults: readonly Fault[]): void {
    this.#faults.push(...faults.slice(0, FAULTS_MAX - this.#faults.length));
    if (this.#faults.length >= FAULTS_MAX) throw invalidBody(this.#faults);
  }

  /** @throws Problem with every fault */
  end(): MemberChanges {
    if (this.#faults.length > 0) throw invalidBody(this.#faults);
    return { add: this.#add, remove: this.#remove };
  }

  #countOne(path: Path): void {
    this.#count += 1;
    if (this.#count <= MEMBER_CHANGES_MAX) return;
    const detail = `must be one of at most ${MEMBER_CHANGES_MAX} entries; send several requests`;
    throw invalidBody([faultAt(pointerOf(path), 'too-many-entries', detail)]);
  }

  /** If one request names a member twice, the order of the two changes is not defined. */
  #place(memberId: string, path: Path): void {
    const earlier = this.#places.get(memberId);
    if (earlier)
      this.refuse([faultAt(pointerOf(path), 'repeated', `names the member of ${pointerOf(earlier)} again`)]);
    else this.#places.set(memberId, path);
  }
}

function faultOfMember({ ref, accounts }: BatchEntry, path: Path): Fault | undefined {
  const at = pointerOf([...path, 'ref']);
  if (ref === undefined) return accounts && faultAt(at, 'required', 'is required for a member with accounts');
  if (isAddressText(ref)) return faultAt(at, 'malformed', 'must not be an address');
  if (!MEMBER_ID.test(ref))
    return faultAt(at, 'malformed', 'must have 1 to 128 printable ASCII characters, no spaces');
  return undefined;
}

async function collectJson(body: unknown, collector: MemberCollector, giveWay: GiveWay): Promise<void> {
  if (!isObject(body))
    return collector.refuse([faultAt('', 'wrong-type', 'must be a JSON object with add or remove')]);
  for (const [name, value] of Object.entries(body)) {
    if (name !== 'add' && name !== 'remove')
      collector.refuse([faultAt(pointerOf([name]), 'unknown-member', notKnown(['add', 'remove']))]);
    else if (!Array.isArray(value)) collector.refuse([faultAt(`/${name}`, 'wrong-type', 'must be a list')]);
    else await takeEach(value, (one, index) => collector[name](one, [name, index]), giveWay);
  }
}

function collectLine(line: unknown, index: number, collector: MemberCollector): void {
  const names = typeof line === 'object' && line !== null ? Object.keys(line) : [];
  const [name] = names;
  if (names.length !== 1 || (name !== 'add' && name !== 'remove'))
    collector.refuse([faultAt(`/${index}`, 'malformed', 'must be an object with either add or remove')]);
  else collector[name]((line as Record<string, unknown>)[name], [index, name]);
}
