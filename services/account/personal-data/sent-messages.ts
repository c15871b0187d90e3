import { identityStream } from '../../../schemas/events/account/identity-events.ts';
import { otpEvents } from '../../../schemas/events/account/otp-events.ts';
import type { HeldSection } from '../../../schemas/http/account/personal-data.ts';
import type { EventStore } from '../../../shared/event-store/event-store.ts';
import { readStream } from '../../../shared/event-store/read-stream.ts';
import { toIso } from '../../../shared/primitives/clock.ts';
import { oneTimePasswordStream } from '../login/domain/one-time-password.ts';

type SentMessage = Extract<HeldSection, { name: 'messages' }>['data'][number];

const issued = otpEvents.OtpIssued.data.pick({ otpId: true, appId: true, isSent: true });
const notSent = otpEvents.OtpNotSent.data;

/**
 * Returns the messages to an identity that the event store knows of, oldest first: one for each one-time password that was
 * sent since somebody else had the identity. A bot's replies are not among them: their events name nobody, and are
 * forgotten after an hour.
 */
export const messagesTo = async (
  eventStore: Pick<EventStore, 'read'>,
  { id: identity, method }: { id: string; method: SentMessage['method'] },
): Promise<SentMessage[]> => {
  const claims = await eventStore.read(identityStream(identity), { direction: 'backwards', limit: 2 });
  const released = claims.find(({ type }) => type === 'IdentityReleased')?.position ?? 0;
  // The stream keeps its newest 4,096 events, so this is as many at most.
  const sent = new Map<string, SentMessage>();
  for await (const { type, data, time, position } of readStream(eventStore, oneTimePasswordStream(identity))) {
    if (type === 'OtpNotSent') sent.delete(notSent.parse(data).otpId);
    if (type !== 'OtpIssued' || position < released) continue;
    const { otpId, appId: app, isSent } = issued.parse(data);
    if (isSent !== false) sent.set(otpId, { kind: 'one-time-password', method, identity, time: toIso(time), app });
  }
  return [...sent.values()];
};
