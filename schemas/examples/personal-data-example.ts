import { otpEvents } from '../events/account/otp-events.ts';
import { sessionEvents } from '../events/account/session-events.ts';
import { heldBecause } from '../events/held.ts';
import type { PersonalData } from '../http/account/personal-data.ts';
import { eventExamples } from './event-examples.ts';

const { SessionStarted, IdentityLinked } = eventExamples;
const { userId, appId: app, sessionId: id, device, method } = SessionStarted;
const [time, later] = ['2026-01-01T00:00:00.000Z', '2026-01-01T00:05:00.000Z'];
const recipients = [{ app, since: time, last: later }];

/** Two of the sections. */
export const personalDataExample: PersonalData = {
  ...{ subject: userId, generatedAt: later, position: 'MTA1MjQ.c2lnbmF0dXJl' },
  sections: [
    {
      ...{ name: 'sessions', ...heldBecause([sessionEvents.SessionStarted]), source: 'logins of the user' },
      data: [{ id, app, method, device, createdAt: time, lastUsedAt: later, current: true, endedAt: null }],
      recipients,
    },
    {
      ...{ name: 'messages', ...heldBecause([otpEvents.OtpIssued]), source: 'requests for a one-time password' },
      data: [{ kind: 'one-time-password', method: 'email', identity: IdentityLinked.identityId, time, app }],
      recipients,
    },
  ],
  history: { items: 12, url: `https://account.example/user/${userId}/history/export` },
};
