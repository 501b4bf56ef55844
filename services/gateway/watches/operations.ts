import { z } from 'zod';
import { WATCHES_PATH } from '#shared/contracts/paths.ts';
import { RULE_SET_ID } from '#shared/contracts/rules/rule-set.ts';
import { PresentedMember, PresentedWatch, WatchId } from '#shared/contracts/watches/presented-watch.ts';
import { MEMBER_CHANGES_MAX } from '#shared/contracts/watches/watch.ts';
import { EntryBody } from '../batches/validate-entry.ts';
import { MEMBER_CHANGES_EXAMPLE, WATCH_EXAMPLE, WATCH_EXAMPLES } from '../docs/examples.ts';
import { ETAG, header, json, nothing, type Operation, PRECONDITIONS } from '../edge/operation.ts';
import { pageQuery } from '../edge/parse-query.ts';
import { MemberChanges, MemberList, WatchList } from './answers.ts';
import { MEMBER_ID } from './receive-members.ts';
import { WatchBody } from './validate-watch.ts';

const WATCH = `${WATCHES_PATH}/:id`;
const params = { id: WatchId.meta({ example: 'members' }) };
const answer = (description: string, headers = {}) =>
  json(description, PresentedWatch, {
    headers: { ...ETAG, ...headers },
    examples: { members: { value: WATCH_EXAMPLE } },
  });

const action = <Name extends string>(name: Name, summary: string) =>
  ({
    method: 'post',
    path: `${WATCH}/${name}`,
    access: 'manage',
    summary,
    params,
    answers: { 200: answer('The watch, as it is now.') },
    codes: ['watch-not-found', 'version-conflict', 'validation-failed'],
  }) as const satisfies Operation;

/** Watches and their members. Reads cost the poll rate, writes the rate and writes of the day; none
 * costs quota. */
export const WATCH_OPERATIONS = {
  listWatches: {
    method: 'get',
    path: WATCHES_PATH,
    access: 'read',
    summary: 'List the watches, ordered by id',
    query: pageQuery(z.string().meta({ pattern: RULE_SET_ID.source }), (text) => RULE_SET_ID.test(text)),
    answers: { 200: json('A page of the list.', WatchList) },
    codes: [],
  },
  readWatch: {
    method: 'get',
    path: WATCH,
    access: 'read',
    summary: 'Read a watch and how each contract of its rule set is followed',
    params,
    answers: { 200: answer('The watch.') },
    codes: ['watch-not-found'],
  },
  putWatch: {
    method: 'put',
    path: WATCH,
    access: 'manage',
    summary: "Keep a list of members under a rule set, and get a webhook when a member's roles change",
    description:
      'Members are checked once per `everySeconds`, within 10 s after they were added, after a transfer that names their ' +
      'wallet (with `follow`), and when the rule set changes.',
    params,
    headers: PRECONDITIONS,
    body: WatchBody,
    bodyExamples: WATCH_EXAMPLES,
    answers: {
      200: answer('The watch, as it is now.'),
      201: answer('The watch is new.', { Location: header('Where it is.') }),
    },
    codes: ['limit-reached', 'version-conflict', 'rule-set-unknown', 'callback-url-refused'],
  },
  deleteWatch: {
    method: 'delete',
    path: WATCH,
    access: 'manage',
    summary: 'Delete a watch and its members',
    params,
    headers: PRECONDITIONS,
    answers: { 204: nothing('The watch is deleted, or did not exist.') },
    codes: ['version-conflict', 'validation-failed'],
  },
  pauseWatch: action('pause', 'Pause a watch: nothing is checked, and no event is sent'),
  resumeWatch: action('resume', 'Resume a watch; a sweep starts'),
  checkWatch: action('check', 'Check all members now'),
  releaseWatch: action('release', 'Send the held revocations'),
  listMembers: {
    method: 'get',
    path: `${WATCH}/members`,
    access: 'read',
    summary: 'List the members of a watch with their roles, ordered by ref or account',
    description: 'A page with large members is shorter; `next` is present if there are more.',
    params,
    query: pageQuery(z.string().meta({ description: 'The `next` of the page before.' }), (text) =>
      MEMBER_ID.test(text),
    ),
    answers: { 200: json('A page of the list.', MemberList) },
    codes: ['watch-not-found'],
  },
  changeMembers: {
    method: 'post',
    path: `${WATCH}/members`,
    access: 'manage',
    summary: 'Add and remove members of a watch',
    description:
      `At most ${MEMBER_CHANGES_MAX} entries: as \`application/json\` at most 2 MiB, as \`application/x-ndjson\` at most ` +
      '16 MiB, where each line is `{ "add": … }` or `{ "remove": … }` of at most 8 KiB; blank lines are ' +
      'skipped. Adding a known `ref` with other wallets replaces its wallets. If one entry is not valid, nothing is changed.',
    params,
    body: z.strictObject({
      add: z.array(EntryBody).optional().meta({
        description: 'Entries as in a batch. An entry with `accounts` needs a `ref`.',
      }),
      remove: z.array(z.string()).optional().meta({ description: 'Refs or accounts.' }),
    }),
    bodyExamples: MEMBER_CHANGES_EXAMPLE,
    upload: 'application/x-ndjson',
    answers: { 200: json('The changes are durable.', MemberChanges) },
    codes: [
      'watch-not-found',
      'body-timeout',
      'limit-reached',
      'account-format-unsupported',
      'too-many-entries',
    ],
  },
  readMember: {
    method: 'get',
    path: `${WATCH}/members/:member`,
    access: 'read',
    summary: 'Read one member of a watch',
    params: {
      ...params,
      member: z
        .string()
        .meta({ description: 'Its ref, or its account if it has none.', example: 'discord:42' }),
    },
    answers: { 200: json('The member.', PresentedMember) },
    codes: ['watch-not-found', 'member-not-found'],
  },
} as const satisfies Record<string, Operation>;
