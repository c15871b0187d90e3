import { identityEvents } from '../../../schemas/events/account/identity-events.ts';
import { otpEvents } from '../../../schemas/events/account/otp-events.ts';
import { passkeyEvents } from '../../../schemas/events/account/passkey-events.ts';
import { sessionEvents } from '../../../schemas/events/account/session-events.ts';
import { userEvents } from '../../../schemas/events/account/user-events.ts';
import type { EventDefinition } from '../../../schemas/events/event.ts';
import { watchEvents } from '../../../schemas/events/event-catcher/watch-events.ts';
import { sponsorshipEvents } from '../../../schemas/events/onchain/sponsorship-events.ts';
import { transactionEvents } from '../../../schemas/events/onchain/transaction-events.ts';
import type { HeldSection } from '../../../schemas/http/account/personal-data.ts';

export type SectionName = HeldSection['name'];

interface SectionOrigin {
  /** The events whose data the section shows: they say why it is held, and until when. */
  from: readonly EventDefinition[];
  source: string;
  /**
   * Which apps with a session of the user are answered it by routes: every app; apps that the operator trusts, and others
   * what came through them; or only the apps that its data names.
   */
  readBy: 'every-app' | 'trusted-apps' | 'named-apps';
}

/** The sections of what is held about a user, in the order of the document. */
export const heldSections: Readonly<Record<SectionName, SectionOrigin>> = {
  profile: {
    from: [userEvents.ProfileUpdated, userEvents.MessengerUpdated, userEvents.SmartAccountAssigned],
    source: 'the user, through an app; at a login, the messenger or provider; addresses of smart accounts are computed',
    readBy: 'every-app',
  },
  identities: {
    from: [
      ...[userEvents.IdentityLinked, identityEvents.IdentityClaimed, identityEvents.IdentityReleased],
      passkeyEvents.PasskeyRegistered,
    ],
    source: 'the wallet, mailbox, messenger, provider or authenticator with which the user logged in',
    readBy: 'every-app',
  },
  sessions: {
    from: [sessionEvents.SessionStarted, sessionEvents.SessionRevoked],
    source: 'logins of the user; device is what the browser or app calls itself',
    readBy: 'trusted-apps',
  },
  transactions: {
    from: [transactionEvents.TxSubmitted],
    source: 'the user, through an app; the chain, as to what became of it',
    readBy: 'trusted-apps',
  },
  registrations: {
    from: [watchEvents.ContractRegistered],
    source: 'the user, through an app or with a wallet',
    readBy: 'named-apps',
  },
  sponsorship: {
    from: [sponsorshipEvents.SponsorshipReserved],
    source: 'the sponsorship policy of an app, at each operation that it pays for; a refusal is not stored',
    readBy: 'named-apps',
  },
  messages: {
    from: [otpEvents.OtpIssued],
    source: 'requests for a one-time password; who made them is not known',
    readBy: 'named-apps',
  },
};
