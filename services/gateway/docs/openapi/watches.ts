import { z } from 'zod';
import type { ZodOpenApiOperationObject } from 'zod-openapi';
import { WATCHES_PATH } from '#shared/contracts/paths.ts';
import { MEMBER_CHANGES_MAX } from '#shared/contracts/watches/watch.ts';
import { WatchBody } from '../../watches/validate-watch.ts';
import { WATCH_CODES } from './api-answers.ts';
import { BatchEntry } from './batches.ts';
import { MEMBER_CHANGES_EXAMPLE, WATCH_EXAMPLE, WATCH_EXAMPLES } from './examples.ts';
import { ETAG, header, PRECONDITIONS, pageOf, problems, SUCCESS_HEADERS } from './parts.ts';
import {
  Id,
  MemberChanges,
  MemberList,
  RolesChanged,
  Watch,
  WatchHeld,
  WatchList,
  WatchMember,
} from './watch-schemas.ts';
import { webhook } from './webhooks.ts';

const path = z.object({ id: Id.meta({ example: 'members' }) });
const memberPath = path.extend({
  member: z.string().meta({ description: 'Its ref, or its account if it has none.', example: 'discord:42' }),
});
const MemberId = z.string().meta({ description: 'The `next` of the page before.' });

const answer = (description: string, headers = {}) => ({
  description,
  headers: { ...SUCCESS_HEADERS, ...ETAG, ...headers },
  content: { 'application/json': { schema: Watch, examples: { members: { value: WATCH_EXAMPLE } } } },
});
const json = (description: string, schema: z.ZodType) => ({
  description,
  headers: SUCCESS_HEADERS,
  content: { 'application/json': { schema } },
});

const listWatches: ZodOpenApiOperationObject = {
  operationId: 'listWatches',
  summary: 'List the watches, ordered by id',
  requestParams: { query: pageOf(Id) },
  responses: { 200: json('A page of the list.', WatchList), ...problems(WATCH_CODES.listWatches) },
};

const readWatch: ZodOpenApiOperationObject = {
  operationId: 'readWatch',
  summary: 'Read a watch and how each contract of its rule set is followed',
  requestParams: { path },
  responses: { 200: answer('The watch.'), ...problems(WATCH_CODES.readWatch) },
};

const putWatch: ZodOpenApiOperationObject = {
  operationId: 'putWatch',
  summary: "Keep a list of members under a rule set, and get a webhook when a member's roles change",
  description:
    'Members are checked once per `everySeconds`, within 10 s after they were added, after a transfer that names their ' +
    'wallet (with `follow`), and when the rule set changes.',
  requestParams: { path, header: PRECONDITIONS },
  requestBody: {
    required: true,
    content: { 'application/json': { schema: WatchBody, examples: WATCH_EXAMPLES } },
  },
  responses: {
    200: answer('The watch, as it is now.'),
    201: answer('The watch is new.', { Location: header('Where it is.') }),
    ...problems(WATCH_CODES.putWatch),
  },
};

const deleteWatch: ZodOpenApiOperationObject = {
  operationId: 'deleteWatch',
  summary: 'Delete a watch and its members',
  requestParams: { path, header: PRECONDITIONS },
  responses: {
    204: { description: 'The watch is deleted, or did not exist.', headers: SUCCESS_HEADERS },
    ...problems(WATCH_CODES.deleteWatch),
  },
};

const ACTIONS = {
  pause: 'Pause a watch: nothing is checked, and no event is sent',
  resume: 'Resume a watch; a sweep starts',
  check: 'Check all members now',
  release: 'Send the held revocations',
} as const;

const actionOf = (name: keyof typeof ACTIONS): ZodOpenApiOperationObject => ({
  operationId: `${name}Watch`,
  summary: ACTIONS[name],
  requestParams: { path },
  responses: { 200: answer('The watch, as it is now.'), ...problems(WATCH_CODES.actOnWatch) },
});

const changeMembers: ZodOpenApiOperationObject = {
  operationId: 'changeMembers',
  summary: 'Add and remove members of a watch',
  description:
    `At most ${MEMBER_CHANGES_MAX} entries: as \`application/json\` at most 2 MiB, as \`application/x-ndjson\` at most ` +
    '16 MiB, where each line is `{ "add": … }` or `{ "remove": … }` of at most 8 KiB; blank lines are ' +
    'passed over. Adding a known `ref` with other wallets replaces its wallets. If one entry is not valid, nothing is changed.',
  requestParams: { path },
  requestBody: {
    required: true,
    content: {
      'application/json': {
        schema: z.strictObject({
          add: z.array(BatchEntry).optional().meta({
            description: 'Entries as in a batch. An entry with `accounts` needs a `ref`.',
          }),
          remove: z.array(z.string()).optional().meta({ description: 'Refs or accounts.' }),
        }),
        examples: MEMBER_CHANGES_EXAMPLE,
      },
      'application/x-ndjson': { schema: z.string() },
    },
  },
  responses: { 200: json('The changes are durable.', MemberChanges), ...problems(WATCH_CODES.changeMembers) },
};

const listMembers: ZodOpenApiOperationObject = {
  operationId: 'listMembers',
  summary: 'List the members of a watch with their roles, ordered by ref or account',
  description: 'A page with large members is shorter; `next` is present if there are more.',
  requestParams: { path, query: pageOf(MemberId) },
  responses: { 200: json('A page of the list.', MemberList), ...problems(WATCH_CODES.listMembers) },
};

const readMember: ZodOpenApiOperationObject = {
  operationId: 'readMember',
  summary: 'Read one member of a watch',
  requestParams: { path: memberPath },
  responses: { 200: json('The member.', WatchMember), ...problems(WATCH_CODES.readMember) },
};

const WATCH_PATH = `${WATCHES_PATH}/{id}`;

export const WATCH_PATHS = {
  [WATCHES_PATH]: { get: listWatches },
  [WATCH_PATH]: { get: readWatch, put: putWatch, delete: deleteWatch },
  ...Object.fromEntries(
    (Object.keys(ACTIONS) as (keyof typeof ACTIONS)[]).map((name) => [
      `${WATCH_PATH}/${name}`,
      { post: actionOf(name) },
    ]),
  ),
  [`${WATCH_PATH}/members`]: { get: listMembers, post: changeMembers },
  [`${WATCH_PATH}/members/{member}`]: { get: readMember },
};

const message = (operationId: string, summary: string, schema: z.ZodType) => ({
  post: webhook({
    operationId,
    summary,
    description: 'Signed by Standard Webhooks, with the same attempts as every webhook.',
    schema,
  }),
});

export const WATCH_WEBHOOKS = {
  rolesChanged: message('rolesChanged', "A member's roles changed", RolesChanged),
  watchHeld: message('watchHeld', 'Revocations of a watch are held back', WatchHeld),
};
