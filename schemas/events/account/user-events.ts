import { z } from 'zod';
import { ofProfile } from '../../profile.ts';
import { address, chainId, isoTime, loginMethod } from '../../values.ts';
import { event, type EventOf, type Held } from '../event.ts';
import { accountHistory, untilErased } from '../held.ts';
import { identityLabel } from './identity-events.ts';

/** An absent member was not changed; `null` cleared it. */
export const profileChanges = z.object(ofProfile(() => z.string().nullable().exactOptional()));
export type ProfileChanges = z.infer<typeof profileChanges>;

const claimed = z.string().nullable().exactOptional();
export const messengerChanges = z.object({
  messengerId: claimed,
  messengerUsername: claimed,
  messengerFirstName: claimed,
  messengerLastName: claimed,
  messengerAvatarUrl: claimed,
  messengerAuthDate: isoTime.nullable().exactOptional(),
  messengerVerified: z.boolean().nullable().exactOptional(),
});
export type MessengerChanges = z.infer<typeof messengerChanges>;

const audited = { isAudited: true, held: accountHistory };
const profileTexts: Held = {
  purpose: 'to show the user to the apps and people that the user meets',
  retention: untilErased('texts of the profile'),
};
const messengerTexts: Held = {
  purpose: 'to let an app find the user of a messenger',
  retention: untilErased('texts of a messenger'),
};

export const userStream = (userId: string): string => `user-${userId}`;

/** Stream `user-<userId>`. */
export const userEvents = {
  UserRegistered: event(1, z.object({ userId: z.string() }), audited),
  IdentityLinked: event(
    2,
    z.object({ userId: z.string(), identityId: z.string(), method: loginMethod, label: z.string() }),
    { ...audited, personal: { label: identityLabel } },
  ),
  IdentityUnlinked: event(
    1,
    z.object({
      userId: z.string(),
      identityId: z.string(),
      method: loginMethod,
      /** Which claim of the identity, counted from 1, is void from now on, although it may not be released yet. */
      claim: z.int().positive(),
    }),
    audited,
  ),
  UserLoggedIn: event(
    1,
    z.object({
      userId: z.string(),
      identityId: z.string(),
      method: loginMethod,
      appId: z.string(),
      sessionId: z.string(),
      /** What an app said of it that logged in a user of the messenger. */
      domainId: z.int().exactOptional(),
    }),
    audited,
  ),
  ProfileUpdated: event(2, z.object({ userId: z.string(), changes: profileChanges }), {
    ...audited,
    personal: { changes: profileTexts },
  }),
  /** What an app says of the user's messenger; an absent member was not changed, `null` cleared it. */
  MessengerUpdated: event(2, z.object({ userId: z.string(), changes: messengerChanges }), {
    ...audited,
    personal: { changes: messengerTexts },
  }),
  /** One for each chain: the account is at this address there, deployed or not. */
  SmartAccountAssigned: event(
    1,
    z.object({ userId: z.string(), chainId, address, owner: address, factory: address, entryPoint: address }),
    audited,
  ),
  /** The last event of a user. */
  UserErased: event(1, z.object({ userId: z.string() }), audited),
};
export type UserEvent = EventOf<typeof userEvents>;

/** A smart account that was assigned to a user on one chain. */
export type AssignedAccount = Omit<z.infer<typeof userEvents.SmartAccountAssigned.data>, 'userId'>;
