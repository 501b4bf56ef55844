// Written by `npm run build:client` from the OpenAPI document, which is made of the schemas that validate.
// Do not edit: change the schema and build again.

export type CheckRequest = {
  /** Wallets that have delegated to the account in the delegate.xyz v2 registry. A vault counts for the tokens that its delegation covers. */
  readonly vaults?: readonly string[] | undefined;
  readonly callbackUrl?: string | undefined;
  readonly async?: boolean | undefined;
  readonly onUndetermined?: OnUndetermined | undefined;
  readonly consistency?: Consistency | undefined;
  /** `true` adds `details` to the result: the amounts that were compared. */
  readonly explain?: boolean | undefined;
  /** `true` adds a signed verdict to the result. */
  readonly proof?: boolean | undefined;
  /** How long a signed verdict is valid, only with `proof`. Default 300 for a sync check, otherwise 3600. */
  readonly proofSeconds?: number | undefined;
  /** How a signed verdict is signed, only with `proof`: `EdDSA` (Ed25519, the default), or `ES256` (P-256), which API gateways and older JWT libraries accept. */
  readonly proofAlg?: 'EdDSA' | 'ES256' | undefined;
  /** Proves that the caller controls the wallets: each entry another one of the accounts. */
  readonly signIn?: readonly SignIn[] | undefined;
} & (
  | {
      /** An address; mixed case must pass EIP-55. Not the zero address. */
      readonly account: string;
      readonly accounts?: never;
    }
  | {
      readonly account?: never;
      /** Instead of `account`: distinct wallets of one person, whose holdings count together. */
      readonly accounts: readonly string[];
    }
) &
  (
    | {
        /** Several rules may name one role. The role is held if any of them is granted, undetermined if none is granted and any is undetermined, and otherwise not held. */
        readonly rules: readonly Rule[];
        readonly ruleSet?: never;
      }
    | {
        readonly rules?: never;
        /** Instead of `rules`: the id of a stored rule set. */
        readonly ruleSet: string;
      }
  );

/** Composed rules nest at most 4 deep; the simple rules inside are not counted. */
export type Rule =
  | Erc20Rule
  | Erc721Rule
  | Erc1155Rule
  | NativeRule
  | ContractRule
  | SumRule
  | ComposedRule
  | AtLeastRule;

export type Erc20Rule = Erc20Condition & {
  /** Several rules may name one role: it is held if any of them is granted. */
  readonly roleId: string;
};

export type Erc721Rule = Erc721Condition & {
  /** Several rules may name one role: it is held if any of them is granted. */
  readonly roleId: string;
};

export type Erc1155Rule = Erc1155Condition & {
  /** Several rules may name one role: it is held if any of them is granted. */
  readonly roleId: string;
};

export type NativeRule = NativeCondition & {
  /** Several rules may name one role: it is held if any of them is granted. */
  readonly roleId: string;
};

export type ContractRule = ContractCondition & {
  /** Several rules may name one role: it is held if any of them is granted. */
  readonly roleId: string;
};

export type SumRule = SumCondition & {
  /** Several rules may name one role: it is held if any of them is granted. */
  readonly roleId: string;
};

/** An amount of a sum: a holding in whole tokens, or an unsigned output of a view function. */
export type Term = Erc20Term | Erc721Term | Erc1155Term | NativeTerm | ContractTerm;

export type Erc20Term = {
  readonly type: 'ERC20';
  readonly chainId: number;
  /** An address; mixed case must pass EIP-55. Not the zero address. */
  readonly contractAddress: string;
  /** For your own use. */
  readonly name?: string | undefined;
  /** For your own use. */
  readonly description?: string | undefined;
  /** A factor: decimal text, or a call. */
  readonly times?: (string | Weight) | undefined;
  /** A divisor: a call. */
  readonly per?: Weight | undefined;
};

/** An unsigned output of a view function on the term's chain. It is the same for all wallets: no argument is `$account`. */
export type Weight = {
  /** An address; mixed case must pass EIP-55. Not the zero address. */
  readonly contractAddress: string;
  /** One human-readable signature of a view or pure function, at most 512 characters. */
  readonly function: string;
  /** One text per input. `$account` stands for the account being checked. */
  readonly args?: readonly string[] | undefined;
  /** Name or zero-based index of the output to compare; the first if absent. Within a tuple or a fixed array a path of names and indices, such as `position.liquidity` or `0.2`. */
  readonly returns?: string | undefined;
  /** Decimals of the output; 0 if absent. */
  readonly decimals?: number | undefined;
};

export type Erc721Term = {
  readonly type: 'ERC721';
  readonly chainId: number;
  /** An address; mixed case must pass EIP-55. Not the zero address. */
  readonly contractAddress: string;
  /** Ids and ranges without spaces; at most 256 ids after expansion. */
  readonly tokenId?: string | undefined;
  /** For your own use. */
  readonly name?: string | undefined;
  /** For your own use. */
  readonly description?: string | undefined;
  /** A factor: decimal text, or a call. */
  readonly times?: (string | Weight) | undefined;
  /** A divisor: a call. */
  readonly per?: Weight | undefined;
};

export type Erc1155Term = {
  readonly type: 'ERC1155';
  readonly chainId: number;
  /** An address; mixed case must pass EIP-55. Not the zero address. */
  readonly contractAddress: string;
  /** Ids and ranges without spaces; at most 256 ids after expansion. */
  readonly tokenId: string;
  /** For your own use. */
  readonly name?: string | undefined;
  /** For your own use. */
  readonly description?: string | undefined;
  /** A factor: decimal text, or a call. */
  readonly times?: (string | Weight) | undefined;
  /** A divisor: a call. */
  readonly per?: Weight | undefined;
};

export type NativeTerm = {
  readonly type: 'NATIVE';
  readonly chainId: number;
  /** For your own use. */
  readonly name?: string | undefined;
  /** For your own use. */
  readonly description?: string | undefined;
  /** A factor: decimal text, or a call. */
  readonly times?: (string | Weight) | undefined;
  /** A divisor: a call. */
  readonly per?: Weight | undefined;
};

export type ContractTerm = {
  readonly type: 'CONTRACT';
  readonly chainId: number;
  /** An address; mixed case must pass EIP-55. Not the zero address. */
  readonly contractAddress: string;
  /** One human-readable signature of a view or pure function, at most 512 characters. */
  readonly function: string;
  /** One text per input. `$account` stands for the account being checked. */
  readonly args?: readonly string[] | undefined;
  /** Name or zero-based index of the output to compare; the first if absent. Within a tuple or a fixed array a path of names and indices, such as `position.liquidity` or `0.2`. */
  readonly returns?: string | undefined;
  /** Decimals of the output. */
  readonly decimals: number;
  /** A factor: decimal text, or a call. */
  readonly times?: (string | Weight) | undefined;
  /** A divisor: a call. */
  readonly per?: Weight | undefined;
  /** For your own use. */
  readonly name?: string | undefined;
  /** For your own use. */
  readonly description?: string | undefined;
};

export type ComposedRule = ComposedCondition & {
  /** Several rules may name one role: it is held if any of them is granted. */
  readonly roleId: string;
};

export type Conditions = readonly Condition[];

/** A rule nested in a composed rule; it names no role. */
export type Condition =
  | Erc20Condition
  | Erc721Condition
  | Erc1155Condition
  | NativeCondition
  | ContractCondition
  | SumCondition
  | ComposedCondition
  | AtLeastCondition;

export type Erc20Condition = {
  readonly type: 'ERC20';
  readonly chainId: number;
  /** An address; mixed case must pass EIP-55. Not the zero address. */
  readonly contractAddress: string;
  /** Minimum, in whole tokens; `"1"` if absent. */
  readonly minToken?: string | undefined;
  /** Maximum, in whole tokens. */
  readonly maxToken?: string | undefined;
  /** For your own use. */
  readonly name?: string | undefined;
  /** For your own use. */
  readonly description?: string | undefined;
};

export type Erc721Condition = {
  readonly type: 'ERC721';
  readonly chainId: number;
  /** An address; mixed case must pass EIP-55. Not the zero address. */
  readonly contractAddress: string;
  /** Ids and ranges without spaces; at most 256 ids after expansion. */
  readonly tokenId?: string | undefined;
  /** Minimum number; `"1"` if absent. */
  readonly minToken?: string | undefined;
  /** Maximum number. */
  readonly maxToken?: string | undefined;
  /** For your own use. */
  readonly name?: string | undefined;
  /** For your own use. */
  readonly description?: string | undefined;
};

export type Erc1155Condition = {
  readonly type: 'ERC1155';
  readonly chainId: number;
  /** An address; mixed case must pass EIP-55. Not the zero address. */
  readonly contractAddress: string;
  /** Ids and ranges without spaces; at most 256 ids after expansion. */
  readonly tokenId: string;
  /** Minimum number; `"1"` if absent. */
  readonly minToken?: string | undefined;
  /** Maximum number. */
  readonly maxToken?: string | undefined;
  /** For your own use. */
  readonly name?: string | undefined;
  /** For your own use. */
  readonly description?: string | undefined;
};

export type NativeCondition = {
  readonly type: 'NATIVE';
  readonly chainId: number;
  /** Minimum, in whole tokens; `"1"` if absent. */
  readonly minToken?: string | undefined;
  /** Maximum, in whole tokens. */
  readonly maxToken?: string | undefined;
  /** For your own use. */
  readonly name?: string | undefined;
  /** For your own use. */
  readonly description?: string | undefined;
};

export type ContractCondition = {
  readonly type: 'CONTRACT';
  readonly chainId: number;
  /** An address; mixed case must pass EIP-55. Not the zero address. */
  readonly contractAddress: string;
  /** One human-readable signature of a view or pure function, at most 512 characters. */
  readonly function: string;
  /** One text per input. `$account` stands for the account being checked. */
  readonly args?: readonly string[] | undefined;
  /** Name or zero-based index of the output to compare; the first if absent. Within a tuple or a fixed array a path of names and indices, such as `position.liquidity` or `0.2`. */
  readonly returns?: string | undefined;
  /** Default `eq` for a boolean output; otherwise required. */
  readonly operator?: 'eq' | 'ne' | 'gt' | 'gte' | 'lt' | 'lte' | undefined;
  /** Text of the output's type, or `$account`. For integers also `$timestamp`, `$timestamp+60` or `$timestamp-86400`: the time of the block that was read, in seconds. Default `true` for a boolean output; otherwise required. */
  readonly value?: string | undefined;
  /** The outcome of a revert with data: `deny` for functions that revert for non-members. */
  readonly onRevert?: 'undetermined' | 'deny' | undefined;
  /** Which of several wallets must satisfy the rule; `any` if absent. */
  readonly wallets?: 'any' | 'all' | undefined;
  /** For your own use. */
  readonly name?: string | undefined;
  /** For your own use. */
  readonly description?: string | undefined;
};

export type SumCondition = {
  readonly type: 'SUM';
  /** Minimum, in whole tokens; `"1"` if absent. */
  readonly minToken?: string | undefined;
  /** Maximum, in whole tokens. */
  readonly maxToken?: string | undefined;
  /** What is added. Each term counts as a rule. */
  readonly rules: readonly Term[];
  /** For your own use. */
  readonly name?: string | undefined;
  /** For your own use. */
  readonly description?: string | undefined;
};

export type ComposedCondition = {
  readonly type: 'ALL' | 'ANY' | 'NONE';
  readonly rules: Conditions;
  /** For your own use. */
  readonly name?: string | undefined;
  /** For your own use. */
  readonly description?: string | undefined;
};

export type AtLeastCondition = {
  readonly type: 'AT_LEAST';
  /** How many of the rules must be granted; at most their number. */
  readonly atLeast: number;
  readonly rules: Conditions;
  /** For your own use. */
  readonly name?: string | undefined;
  /** For your own use. */
  readonly description?: string | undefined;
};

export type AtLeastRule = AtLeastCondition & {
  /** Several rules may name one role: it is held if any of them is granted. */
  readonly roleId: string;
};

export type OnUndetermined = 'omit' | 'deny' | 'fail';

export type Consistency = {
  readonly blockTag?: BlockTag | undefined;
  /** By chain id: every read of that chain is at this block or later. */
  readonly minBlock?: Readonly<Record<string, number>> | undefined;
  /** By chain id: every read of that chain is at exactly this block. Not together with `blockTag`, or with `minBlock` of the same chain. */
  readonly atBlock?: Readonly<Record<string, number>> | undefined;
};

export type BlockTag = 'latest' | 'safe' | 'finalized';

export type SignIn = {
  /** A text as EIP-4361 has it, of at most 4 KiB, with a nonce of this client app and one of its domains. */
  readonly message: string;
  /** Over the EIP-191 hash of the message, `0x` and hex, at most 4096 bytes: of the account itself (also by EIP-2098), or as its contract takes it (ERC-1271, ERC-6492). */
  readonly signature: string;
};

export type BatchRequest = {
  readonly callbackUrl?: string | undefined;
  readonly onUndetermined?: OnUndetermined | undefined;
  readonly consistency?: Consistency | undefined;
  /** `true` adds `details` to the result: the amounts that were compared. */
  readonly explain?: boolean | undefined;
  /** `true` adds a signed verdict to the result. */
  readonly proof?: boolean | undefined;
  /** How long a signed verdict is valid, only with `proof`. Default 300 for a sync check, otherwise 3600. */
  readonly proofSeconds?: number | undefined;
  /** How a signed verdict is signed, only with `proof`: `EdDSA` (Ed25519, the default), or `ES256` (P-256), which API gateways and older JWT libraries accept. */
  readonly proofAlg?: 'EdDSA' | 'ES256' | undefined;
} & (
  | {
      /** Free tier at most 1 000, paid 10 000, enterprise 100 000. Repeated entries are allowed. */
      readonly entries: readonly BatchEntry[];
      readonly watch?: never;
    }
  | {
      readonly entries?: never;
      /** Instead of `entries`: the id of a watch, whose members are the entries. Each line tells what it would change; nothing is sent but the message of the batch, and no member changes. Only as `application/json`. */
      readonly watch: string;
    }
) &
  (
    | {
        /** Several rules may name one role. The role is held if any of them is granted, undetermined if none is granted and any is undetermined, and otherwise not held. */
        readonly rules: readonly Rule[];
        readonly ruleSet?: never;
      }
    | {
        readonly rules?: never;
        /** Instead of `rules`: the id of a stored rule set. */
        readonly ruleSet: string;
      }
  );

/** An address, or the wallets of one person with your id for the person. */
export type BatchEntry =
  | string
  | ({
      /** Wallets that have delegated to the account in the delegate.xyz v2 registry. A vault counts for the tokens that its delegation covers. */
      readonly vaults?: readonly string[] | undefined;
      /** Your id; the result contains it. */
      readonly ref?: string | undefined;
    } & (
      | {
          /** An address; mixed case must pass EIP-55. Not the zero address. */
          readonly account: string;
          readonly accounts?: never;
        }
      | {
          readonly account?: never;
          /** Instead of `account`: distinct wallets of one person, whose holdings count together. */
          readonly accounts: readonly string[];
        }
    ));

export type RuleSetBody = {
  readonly name?: string | undefined;
  /** Several rules may name one role. The role is held if any of them is granted, undetermined if none is granted and any is undetermined, and otherwise not held. */
  readonly rules: readonly Rule[];
  readonly onUndetermined?: OnUndetermined | undefined;
};

export type WatchBody = {
  readonly ruleSet: string;
  readonly callbackUrl: string;
  readonly everySeconds?: number | undefined;
  readonly follow?: boolean | undefined;
  readonly blockTag?: BlockTag | undefined;
  readonly explain?: boolean | undefined;
  readonly graceSeconds?: number | undefined;
  readonly stalledAfterSeconds?: number | undefined;
  readonly quotaShare?: number | undefined;
  readonly massRevocation?:
    | { readonly share?: number | undefined; readonly atLeast?: number | undefined }
    | undefined;
};

export type DeliveryState = 'pending' | 'delivered' | 'exhausted' | 'stopped';

export type ResendFailedBody = { readonly since: string };

export type AccessEvaluation = {
  readonly subject: AccessSubject;
  /** Any name: it changes nothing. */
  readonly action: { readonly name: string };
  readonly resource: AccessResource;
  readonly context?: AccessContext | undefined;
};

/** The wallet that is asked about. */
export type AccessSubject = {
  readonly type: 'wallet';
  /** An address; mixed case must pass EIP-55. Not the zero address. */
  readonly id: string;
};

/** A role of a stored rule set: `<rule set id>/<role id>`. */
export type AccessResource = { readonly type: 'role'; readonly id: string };

/** As the members of a check; others are ignored. */
export type AccessContext = {
  readonly consistency?: AccessConsistency | undefined;
  readonly onUndetermined?: OnUndetermined | undefined;
};

export type AccessConsistency = Consistency;

export type AccessEvaluations = PartialAccessEvaluation & {
  /** Members outside are the defaults of each. At most 16 distinct checks, of subject, rule set and context. Absent or empty, the request is a single evaluation. */
  readonly evaluations?: readonly PartialAccessEvaluation[] | undefined;
  readonly options?:
    | {
        readonly evaluations_semantic?:
          | 'execute_all'
          | 'deny_on_first_deny'
          | 'permit_on_first_permit'
          | undefined;
      }
    | undefined;
};

export type PartialAccessEvaluation = {
  readonly subject?: AccessSubject | undefined;
  /** Any name: it changes nothing. */
  readonly action?: { readonly name: string } | undefined;
  readonly resource?: AccessResource | undefined;
  readonly context?: AccessContext | undefined;
};

/** One shape for sync, poll and webhook. A rule that could not be read is in `errors` and not in `roles`. Several rules may name one role: it is held if any of them is granted, undetermined if none is granted and any is in `errors`, and otherwise not held. */
export type CheckResult = {
  readonly requestId: string;
  readonly status: 'completed' | 'failed';
  readonly roles: readonly RoleVerdict[];
  readonly errors: readonly (RuleFault | SignInFault)[];
  readonly evaluatedAt: string;
  readonly blocks: Readonly<Record<string, BlockReport>>;
  readonly ruleSet?: RuleSetReference | undefined;
  readonly details?: readonly RuleDetail[] | undefined;
  readonly signIn?: readonly { readonly account: string; readonly outcome: 'proved' }[] | undefined;
  readonly proof?: string | undefined;
};

export type RoleVerdict = { readonly id: string; readonly granted: boolean };

export type RuleFault = {
  readonly ruleIndex: number;
  readonly roleId: string;
  readonly code: UndeterminedCode;
  readonly message: string;
  readonly retryable: boolean;
  readonly chainId: number;
  readonly contractAddress?: string | undefined;
  readonly path?: string | undefined;
};

export type UndeterminedCode =
  | 'rpc-unavailable'
  | 'rpc-timeout'
  | 'rpc-disagreement'
  | 'chain-stale'
  | 'block-mismatch'
  | 'block-unavailable'
  | 'min-block-not-reached'
  | 'contract-not-found'
  | 'call-reverted'
  | 'return-malformed'
  | 'decimals-unavailable'
  | 'gas-exhausted'
  | 'deadline-exceeded'
  | 'sign-in-refused'
  | 'sign-in-unread'
  | 'internal';

export type SignInFault = {
  readonly account: string;
  readonly code: 'sign-in-refused' | 'sign-in-unread';
  readonly message: string;
  readonly retryable: boolean;
  readonly chainId: number;
};

export type BlockReport = {
  readonly number: number;
  readonly hash: string;
  readonly timestamp: number;
  readonly proved: boolean;
  readonly state?: true | undefined;
};

export type RuleSetReference = { readonly id: string; readonly version: number; readonly digest: string };

export type RuleDetail = {
  readonly ruleIndex?: number | undefined;
  readonly outcome: 'granted' | 'denied' | 'undetermined';
  readonly observed?: string | undefined;
  readonly required?:
    | {
        readonly min?: string | undefined;
        readonly max?: string | undefined;
        readonly operator?: string | undefined;
        readonly value?: string | undefined;
      }
    | undefined;
  readonly rules?: readonly (RuleDetail | TermDetail)[] | undefined;
};

export type TermDetail = { readonly observed?: string | undefined };

export type BatchCompleted = BatchStatus & { readonly type: 'batch.completed' };

export type RoleCounts = {
  readonly id: string;
  readonly granted: number;
  readonly denied: number;
  readonly undetermined: number;
  readonly gained?: number | undefined;
  readonly lost?: number | undefined;
};

export type QuotaAlert = {
  readonly type: 'quota.threshold';
  readonly clientId: string;
  readonly month: string;
  readonly threshold: 80 | 100;
  readonly used: number;
  readonly quota: number;
  readonly at: string;
};

/** All decided roles of a member, changed ones first. */
export type RolesChanged = {
  readonly type: 'roles.changed';
  readonly watchId: string;
  readonly account?: string | undefined;
  readonly accounts?: readonly string[] | undefined;
  readonly ref?: string | undefined;
  readonly addedAt: string;
  readonly sequence: number;
  readonly roles: readonly {
    readonly id: string;
    readonly granted: boolean;
    readonly before: boolean | null;
  }[];
  readonly cause: 'first' | 'transfer' | 'schedule' | 'rule-set' | 'release';
  /** With cause `transfer`: the newest one that caused the check, if it is still known. */
  readonly transfer?: Transfer | undefined;
  /** With `explain`: of the rules of the changed roles. */
  readonly details?: readonly RuleDetail[] | undefined;
  readonly blockNumbers: Readonly<Record<string, number>>;
  readonly evaluatedAt: string;
};

export type Transfer = {
  readonly chainId: number;
  readonly contractAddress: string;
  readonly blockNumber: number;
  readonly transactionHash: string;
  readonly logIndex: number;
};

export type WatchHeld = {
  readonly type: 'watch.held';
  readonly watchId: string;
  readonly roles: readonly { readonly id: string; readonly holders: number; readonly revocations: number }[];
};

/** Chains that could not be read for `stalledAfterSeconds`. */
export type WatchStalled = {
  readonly type: 'watch.stalled';
  readonly watchId: string;
  readonly chains: readonly StalledChain[];
};

export type StalledChain = {
  readonly chainId: number;
  /** When the chain was last read. */
  readonly since: string;
};

/** The chains of a `watch.stalled` can be read, and what was owed has been checked. */
export type WatchRecovered = {
  readonly type: 'watch.recovered';
  readonly watchId: string;
  readonly chains: readonly StalledChain[];
};

export type TestEvent = {
  readonly type: 'test';
  readonly requestId: string;
  readonly status: 'completed';
  readonly roles: readonly [];
  readonly errors: readonly [];
  readonly evaluatedAt: string;
  readonly blocks: Readonly<Record<string, BlockReport>>;
};

/** Opaque and URL-safe. */
export type RequestId = string;

export type Acknowledgement = { readonly requestId: RequestId };

export type Fault = {
  /** RFC 6901, into the body as it was sent; empty for the body as a whole. */
  readonly pointer: string;
  readonly code: string;
  readonly detail: string;
};

export type Pending = {
  readonly requestId: RequestId;
  readonly status: 'pending';
  readonly roles: readonly [];
  readonly errors: readonly [];
};

export type ChainList = {
  readonly chains: readonly {
    readonly chainId: number;
    readonly name: string;
    readonly nativeSymbol: string;
    /** `down`: no endpoint can be read; `unknown`: no check has asked lately. Right within 30 s while the chain is asked. */
    readonly state: 'ok' | 'down' | 'unknown';
    /** When the state last changed; absent for `unknown`. */
    readonly since?: string | undefined;
  }[];
};

export type KeySet = { readonly keys: readonly Readonly<Record<string, unknown>>[] };

export type Nonce = {
  /** For the `Nonce:` line of the message. */
  readonly nonce: string;
  /** 10 minutes after it was issued. */
  readonly expiresAt: string;
};

export type BatchAcknowledgement = { readonly requestId: RequestId; readonly entries: number };

export type BatchStatus = {
  readonly requestId: RequestId;
  readonly status: 'pending' | 'completed';
  readonly entries: number;
  readonly done: number;
  /** Counts over the finished entries: one verdict per entry and role. In a preview of a watch also how many members would gain and lose the role. */
  readonly roles: readonly RoleCounts[];
  readonly acceptedAt: string;
  readonly completedAt?: string | undefined;
  readonly ruleSet?: RuleSetReference | undefined;
};

export type BatchLine = {
  /** Index of the entry in the batch, from 0. */
  readonly index: number;
  readonly account?: string | undefined;
  readonly accounts?: readonly string[] | undefined;
  readonly ref?: string | undefined;
  /** In a preview of a watch: the last verdicts of the member, by role id. */
  readonly before?: Readonly<Record<string, boolean>> | undefined;
  readonly status: 'completed' | 'failed';
  readonly roles: readonly RoleVerdict[];
  readonly errors: readonly RuleFault[];
  /** By chain id: the block at which the entry was read. */
  readonly blockNumbers: Readonly<Record<string, number>>;
  readonly details?: readonly RuleDetail[] | undefined;
  readonly proof?: string | undefined;
};

export type RuleSetList = {
  readonly ruleSets: readonly RuleSet[];
  /** Send it as `after` for the next page; absent on the last. */
  readonly next?: string | undefined;
};

export type RuleSet = {
  readonly ruleSetId: string;
  /** Counts changes of `rules` and `onUndetermined`. */
  readonly version: number;
  /** SHA-256 over the canonical JSON (RFC 8785) of `{ onUndetermined, rules }`. */
  readonly digest: string;
  readonly name?: string | undefined;
  /** As they were sent. */
  readonly rules: readonly Rule[];
  readonly onUndetermined: OnUndetermined;
  readonly updatedAt: string;
};

export type WatchList = { readonly watches: readonly Watch[]; readonly next?: string | undefined };

export type Watch = {
  readonly watchId: string;
  readonly version: number;
  readonly state: 'active' | 'paused' | 'held';
  /** Roles whose revocations are held back. */
  readonly held: readonly string[];
  /** Chains that cannot be read for this watch, as `watch.stalled` reported them. */
  readonly stalled?: readonly StalledChain[] | undefined;
  readonly members: number;
  readonly following: readonly {
    readonly chainId: number;
    readonly contractAddress: string;
    readonly state: 'live' | 'sweeps-only';
    /** Why the contract is not followed; of a `live` one, that a sweep found a change without a transfer event. */
    readonly reason?: string | undefined;
  }[];
  readonly ruleSet: string;
  readonly callbackUrl: string;
  readonly everySeconds: number;
  readonly follow: boolean;
  readonly blockTag: BlockTag;
  readonly explain: boolean;
  readonly graceSeconds: number;
  readonly stalledAfterSeconds: number;
  readonly quotaShare: number;
  readonly massRevocation: { readonly share: number; readonly atLeast: number };
  /** Why the watch is paused: `requested`, `quota-exceeded`, `quota-share-exceeded`, `rule-set-missing`, or `bytes-per-day` until midnight (UTC). */
  readonly reason?: string | undefined;
  readonly createdAt: string;
  readonly updatedAt: string;
};

export type MemberList = { readonly members: readonly WatchMember[]; readonly next?: string | undefined };

export type WatchMember = {
  readonly account?: string | undefined;
  readonly accounts?: readonly string[] | undefined;
  readonly ref?: string | undefined;
  readonly vaults?: readonly string[] | undefined;
  readonly roles: readonly {
    readonly id: string;
    readonly granted: boolean;
    /** Since when the role has this verdict. */
    readonly since: string;
    /** A revocation of this role is held back. */
    readonly revocationHeld?: boolean | undefined;
  }[];
  /** Revocations in their grace: a second check decides. */
  readonly pending?: readonly { readonly id: string; readonly since: string }[] | undefined;
  readonly sequence: number;
  readonly addedAt: string;
  readonly since?: string | undefined;
  readonly checkedAt?: string | undefined;
  readonly blockNumbers: Readonly<Record<string, number>>;
  readonly errors: readonly RuleFault[];
};

export type MemberChanges = {
  readonly added: number;
  readonly replaced: number;
  readonly removed: number;
  readonly members: number;
};

export type DeliveryList = {
  readonly deliveries: readonly Delivery[];
  /** Send it as `after` for the next page; absent on the last. */
  readonly next?: string | undefined;
};

export type Delivery = {
  /** The `webhook-id` header of the message. */
  readonly webhookId: string;
  readonly type: DeliveryType;
  /** Of a check or a batch. */
  readonly requestId?: RequestId | undefined;
  /** Of an event of a watch, as long as its body is kept: 72 h. */
  readonly watchId?: string | undefined;
  /** `exhausted` after the last attempt, `stopped` by a 410; only a `pending` one cannot be resent. */
  readonly state: DeliveryState;
  readonly attempts: number;
  readonly lastAttempt?: LastAttempt | undefined;
};

/** `check.completed` for the message of a check. */
export type DeliveryType =
  | 'check.completed'
  | 'batch.completed'
  | 'roles.changed'
  | 'watch.held'
  | 'watch.stalled'
  | 'watch.recovered'
  | 'quota.threshold'
  | 'test';

/** `status` is absent if the receiver did not answer. */
export type LastAttempt = {
  readonly at: string;
  readonly status?: number | undefined;
  readonly class: AttemptClass;
};

export type AttemptClass =
  | 'delivered'
  | 'http-3xx'
  | 'http-4xx'
  | 'http-5xx'
  | 'gone'
  | 'timeout'
  | 'connect-failed'
  | 'connection-reset'
  | 'tls-failed'
  | 'dns-failed'
  | 'address-refused'
  | 'response-malformed';

export type ResendCount = { readonly count: number };

export type DeliveryWithAttempts = {
  /** The `webhook-id` header of the message. */
  readonly webhookId: string;
  readonly type: DeliveryType;
  /** Of a check or a batch. */
  readonly requestId?: RequestId | undefined;
  /** Of an event of a watch, as long as its body is kept: 72 h. */
  readonly watchId?: string | undefined;
  /** `exhausted` after the last attempt, `stopped` by a 410; only a `pending` one cannot be resent. */
  readonly state: DeliveryState;
  /** Oldest first. */
  readonly attempts: readonly DeliveryAttempt[];
  readonly lastAttempt?: LastAttempt | undefined;
};

/** Counted from 1 again after a resend. `status` is absent if the receiver did not answer. */
export type DeliveryAttempt = LastAttempt & { readonly attempt: number; readonly durationMs: number };

export type AccessDecision = {
  readonly decision: boolean;
  readonly context: {
    readonly outcome: 'granted' | 'denied';
    readonly requestId: RequestId;
    readonly evaluatedAt: string;
    readonly blocks: Readonly<Record<string, BlockReport>>;
  };
};

/** The entry is faulty (400), or its role could not be read (503). For enforcing a request: never take a role away because of it. */
export type AccessUndetermined = {
  readonly decision: false;
  readonly context: {
    readonly outcome: 'undetermined';
    readonly error: { readonly status: 400 | 503; readonly message: string };
  };
};

export type PolicyDecisionPoint = {
  readonly policy_decision_point: string;
  readonly access_evaluation_endpoint: string;
  readonly access_evaluations_endpoint: string;
};

/** The codes of all problems that the API answers with. */
export type ProblemCode =
  | 'account-format-unsupported'
  | 'api-key-invalid'
  | 'api-key-missing'
  | 'batch-too-large'
  | 'body-timeout'
  | 'body-too-large'
  | 'callback-url-refused'
  | 'chain-unsupported'
  | 'client-app-suspended'
  | 'deadline-exceeded'
  | 'delivery-not-found'
  | 'delivery-pending'
  | 'dependency-unavailable'
  | 'evaluation-unavailable'
  | 'function-unsupported'
  | 'headers-too-large'
  | 'idempotency-key-in-use'
  | 'idempotency-key-reused'
  | 'internal'
  | 'limit-reached'
  | 'malformed-json'
  | 'malformed-request'
  | 'media-type-unsupported'
  | 'member-not-found'
  | 'min-token-zero'
  | 'monthly-quota-exceeded'
  | 'overloaded'
  | 'permission-missing'
  | 'proof-unavailable'
  | 'rate-limited'
  | 'request-expired'
  | 'request-not-found'
  | 'request-timeout'
  | 'route-not-found'
  | 'rule-set-in-use'
  | 'rule-set-not-found'
  | 'rule-set-unknown'
  | 'rule-type-unsupported'
  | 'scope-not-approved'
  | 'sign-in-malformed'
  | 'sign-in-refused'
  | 'too-many-entries'
  | 'too-many-reads'
  | 'validation-failed'
  | 'version-conflict'
  | 'watch-not-found'
  | 'watch-unknown';
