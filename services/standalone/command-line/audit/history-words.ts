import type { EventDefinition } from '../../../../schemas/events/event.ts';
import type { sessionEvents } from '../../../../schemas/events/account/session-events.ts';
import type { transactionEvents } from '../../../../schemas/events/onchain/transaction-events.ts';
import type { userEvents } from '../../../../schemas/events/account/user-events.ts';
import type { JsonObject, JsonValue } from '../../../../schemas/json.ts';
import type { z } from 'zod';

/** The events of a history. */
type Events = typeof userEvents &
  Pick<typeof sessionEvents, 'SessionStarted' | 'SessionRevoked'> &
  typeof transactionEvents;
type HistoryType = keyof Events;
type DataOf<Type extends HistoryType> = Events[Type] extends EventDefinition<infer Schema> ? z.infer<Schema> : never;

/** What happened, and what its data adds to that. */
type Words = { [Type in HistoryType]: readonly [string, (data: DataOf<Type>) => string] };

const operation = ({ transactionId, chainId }: { transactionId: string; chainId: number }): string =>
  `${transactionId} on chain ${String(chainId)}`;
const inBlock = (data: DataOf<'TxIncluded'>): string =>
  `${operation(data)}, in block ${String(data.blockNumber)} by ${data.transactionHash}, for ${data.actualGasCostWei} wei`;
const changed = (changes: JsonObject): string =>
  Object.entries(changes)
    .map(([member, value]) => `${member} ${quoted(value)}`)
    .join(', ');

const words: Words = {
  UserRegistered: ['the account was made', () => ''],
  IdentityLinked: ['a login method was linked', ({ method, label }) => `${method} ${quoted(label)}`],
  IdentityUnlinked: ['a login method was unlinked', ({ method }) => method],
  UserLoggedIn: ['logged in', ({ method }) => `by ${method}`],
  ProfileUpdated: ['changed the profile', ({ changes }) => changed(changes)],
  MessengerUpdated: ['changed the messenger', ({ changes }) => changed(changes)],
  SmartAccountAssigned: ['got a smart account', ({ chainId, address }) => `${address} on chain ${String(chainId)}`],
  UserErased: ['the account was erased', () => ''],
  SessionStarted: ['a session began', ({ device }) => (device === null ? '' : `on ${quoted(device)}`)],
  SessionRevoked: ['a session ended', ({ reason }) => reason.replaceAll('_', ' ')],
  TxSubmitted: [
    'sent a transaction',
    (data) => `${operation(data)}, operation ${data.userOpHash}, ${data.sponsor ? 'sponsored' : 'not sponsored'}`,
  ],
  TxDelayed: [
    'a transaction waits',
    (data) => `${operation(data)}, ${data.reason === null ? 'no more' : quoted(data.reason)}`,
  ],
  TxIncluded: ['a transaction was included', inBlock],
  TxReverted: [
    'a transaction was included, and its call failed',
    (data) => inBlock(data) + (data.reason === null ? '' : `, with ${data.reason}`),
  ],
  TxFinalized: ['a transaction is final', operation],
  TxReorged: ['a transaction lost its block', (data) => `${operation(data)}, ${data.blockHash}`],
  TxReplaced: ['a transaction was replaced', (data) => `${operation(data)}, by operation ${data.replacedBy}`],
  TxDropped: ['a transaction was given up', (data) => `${operation(data)}, ${quoted(data.reason)}`],
};

/**
 * Tells in words what happened in an event of a history.
 * @param data as the event's definition has it; `null` after an erasure, as its texts may be: their key is destroyed
 */
export const whatHappened = (type: string, data: JsonObject | null): string => {
  if (!Object.hasOwn(words, type)) return type;
  const [what, details] = words[type as HistoryType] as readonly [string, (data: JsonObject) => string];
  const told = data === null ? '' : details(data);
  return told === '' ? what : `${what}: ${told}`;
};

/** Quotes a value that somebody chose, so that no character of it can change the terminal. */
export const quoted = (value: JsonValue): string =>
  JSON.stringify(value).replaceAll(/\p{C}/gu, (character) => `\\u{${character.codePointAt(0)?.toString(16) ?? ''}}`);
