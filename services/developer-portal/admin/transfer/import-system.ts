import { open } from 'node:fs/promises';
import { z } from 'zod';
import { OPERATORS } from '#shared/contracts/apps/audit.ts';
import { Account, ClientApp } from '#shared/contracts/apps/client-app.ts';
import { parseMessage } from '#shared/contracts/topic.ts';
import { ServiceError } from '#shared/errors.ts';
import { liveOf } from '#shared/stores/documents/versioned-documents.ts';
import type { OpenSystem } from '../open-system.ts';
import { FORMAT, KIND_NAMES, type KindName, kindOf, noCounts, type Versioned } from './documents.ts';

/** Documents that are written at once. */
const AT_ONCE = 100;

const Line = z.union([
  z.object({ kind: z.enum(KIND_NAMES), document: z.unknown() }),
  z.object({ kind: z.literal('end'), format: z.number(), counts: z.record(z.string(), z.number()) }),
]);
type Document = { readonly kind: KindName; readonly document: Versioned; readonly line: number };

/**
 * Imports an export: nothing unless the whole file is valid. A document of which the system has the
 * same version or a newer one stays as it is, so an import can be repeated, also after it was
 * interrupted.
 *
 * @returns how many documents of each kind were written, and how many were there already
 * @throws ServiceError `usage-invalid`, which names the line; the errors of a write
 */
export async function importSystem(system: OpenSystem, file: string) {
  const documentCount = await verifyExport(file, (found) => requireSamePerson(system, file, found));
  const written = noCounts();
  let unreadableSecrets = 0;
  let chunk: Document[] = [];
  const writeChunk = async () => {
    const done = await Promise.all(chunk.map((one) => writeDocument(system, one)));
    for (const [i, { kind }] of chunk.entries()) if (done[i]) written[kind]++;
    chunk = [];
  };
  for await (const found of readDocuments(file)) {
    if (found.kind === 'clientApps' && !canOpenSecrets(system, found.document)) unreadableSecrets++;
    // The owner of a document is written before it.
    if (chunk.length === AT_ONCE || (chunk[0] && chunk[0].kind !== found.kind)) await writeChunk();
    chunk.push(found);
  }
  await writeChunk();
  const total = Object.values(written).reduce((sum, count) => sum + count, 0);
  if (total > 0)
    await system.writes.record({
      accountId: OPERATORS,
      actor: system.actor,
      action: 'system-imported',
      subject: `${total} documents`,
    });
  return { written, unchanged: documentCount - total, unreadableSecrets };
}

/** Reads a whole export without writing anything; how many documents it has.
 * @throws ServiceError `usage-invalid` */
export async function verifyExport(
  file: string,
  verify: (found: Document) => Promise<void> = async () => undefined,
): Promise<number> {
  let count = 0;
  for await (const found of readDocuments(file)) {
    await verify(found);
    count++;
  }
  return count;
}

/**
 * An account is named after its address: who has signed up with the address of somebody else, and
 * has not shown that it is theirs, would become the owner of that person's apps.
 *
 * @throws ServiceError `usage-invalid`
 */
async function requireSamePerson(
  { accounts }: OpenSystem,
  file: string,
  { kind, document, line }: Document,
): Promise<void> {
  if (kind !== 'accounts') return;
  const { accountId, createdAt } = Account.parse(document);
  const present = liveOf(await accounts.read(accountId));
  if (present === undefined || present.verified || present.createdAt === createdAt) return;
  throw invalid(
    `${file}, line ${line}: perhaps somebody else has signed up here with the same address (${accountId}, at ${present.createdAt}): delete that account, or have its address verified`,
  );
}

/** The documents of an export. @throws ServiceError `usage-invalid` unless the last line counts
 * them */
async function* readDocuments(file: string): AsyncGenerator<Document, void> {
  await using opened = await open(file).catch(() => undefined);
  if (!opened || !(await opened.stat()).isFile()) throw invalid(`${file} cannot be read`);
  const found = noCounts();
  let isWhole = false;
  let number = 0;
  for await (const line of opened.readLines()) {
    number++;
    if (line === '') continue;
    const fault = (what: string) => invalid(`${file}, line ${number}: ${what}`);
    if (isWhole) throw fault('there is a line behind the last one');
    const parsed = parseLine(line, fault);
    if (parsed.kind !== 'end') {
      found[parsed.kind]++;
      yield { ...parsed, line: number };
      continue;
    }
    if (parsed.format > FORMAT) throw fault('the export is of a later version of Rolecall');
    const counts = { ...noCounts(), ...parsed.counts };
    const wrong = KIND_NAMES.find((name) => counts[name] !== found[name]);
    if (wrong) throw fault(`${counts[wrong]} ${wrong} are counted, and the file has ${found[wrong]}`);
    isWhole = true;
  }
  if (!isWhole) throw invalid(`${file} is not a whole export: it has no last line that counts the others`);
}

/** @throws ServiceError `usage-invalid` */
function parseLine(
  line: string,
  fault: (what: string) => ServiceError,
): Omit<Document, 'line'> | Extract<z.infer<typeof Line>, { kind: 'end' }> {
  let json: unknown;
  try {
    json = JSON.parse(line);
  } catch {
    throw fault('it is not JSON');
  }
  const { data } = Line.safeParse(json);
  if (!data) throw fault('it is no line of an export');
  if (data.kind === 'end') return data;
  const { topic } = kindOf(data.kind);
  try {
    return { kind: data.kind, document: parseMessage(topic, JSON.stringify(data.document)) };
  } catch (error) {
    throw fault(error instanceof ServiceError ? error.message : 'its document cannot be read');
  }
}

const invalid = (message: string): ServiceError =>
  new ServiceError('usage-invalid', `${message}; nothing was imported`);

/** Publishes a document before it is in the view: what the topic has is never lost.
 * @returns false if the system has it already */
async function writeDocument(system: OpenSystem, { kind, document }: Document): Promise<boolean> {
  const { topic, viewOf } = kindOf(kind);
  const { read, project } = viewOf(system);
  const known = await read(topic.keyOf(document), document);
  if (known && known.version >= document.version) return false;
  await system.publish(topic, document);
  await project(document);
  return true;
}

/** Whether the system has the key that encrypted an app's secrets; true where this command knows no
 * keys. */
function canOpenSecrets({ box, hasSecretKeys }: OpenSystem, document: unknown): boolean {
  if (!hasSecretKeys) return true;
  const { clientId, webhookSecrets } = ClientApp.parse(document);
  try {
    for (const { encrypted } of webhookSecrets) box.open(encrypted, clientId);
    return true;
  } catch {
    return false;
  }
}
