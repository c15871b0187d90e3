import type { EventDefinition, Held } from './event.ts';

/** The retention of sealed members. @param what names them to the person */
export const untilErased = (what: string): string =>
  `${what}: until the account is erased, which destroys the key that decrypts them`;
/** The retention of members in the clear. @param what names them to the person */
export const lasting = (what: string): string =>
  `${what}: as long as the event store, after an erasure too, so that the history stays provable`;

/** Who did what and when, in every event of a user's history. */
export const accountHistory: Held = {
  purpose: 'to prove to the user what happened to the account, and when',
  retention: lasting('what happened when, with ids and public addresses'),
};

/** Returns why the data of these events is held and until when, each sentence once. */
export const heldBecause = (from: readonly EventDefinition[]): Held => {
  const held = from.flatMap((definition) => [...Object.values(definition.personal), definition.held ?? []].flat());
  const joined = (member: keyof Held) => [...new Set(held.map((one) => one[member]))].join('; ');
  return { purpose: joined('purpose'), retention: joined('retention') };
};
