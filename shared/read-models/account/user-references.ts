import { z } from 'zod';
import { watchEvents } from '../../../schemas/events/event-catcher/watch-events.ts';
import { sponsorshipEvents } from '../../../schemas/events/onchain/sponsorship-events.ts';
import { isoTime } from '../../../schemas/values.ts';
import { claimantText } from '../../chain/identifiers/claimant.ts';
import { toIso } from '../../primitives/clock.ts';
import { registrantOf } from '../event-catcher/watches.ts';
import { reservationIdOf } from '../onchain/reservations.ts';
import { readModel } from '../read-model.ts';

/** A document of another read model that is about a user, and does not have the user's id as an indexed member. */
const referenceDocument = z.object({
  userId: z.string(),
  /** `registration`: a watch that the user claims or claimed. `sponsorship`: a reservation for one of the user's operations. */
  kind: z.enum(['registration', 'sponsorship']),
  /** The id of the watch or of the reservation. */
  documentId: z.string(),
  appId: z.string(),
  /** Of the first event by which the other document is about the user. Different in every reference. */
  firstPosition: z.int(),
  time: isoTime,
});
export type UserReference = z.infer<typeof referenceDocument>;

const { ContractRegistered } = watchEvents;
const { SponsorshipReserved } = sponsorshipEvents;

/** What other read models hold about a user: finds it without reading what they hold about everybody. */
export const userReferencesModel = readModel({
  name: 'user-references-v1',
  collections: {
    reference: {
      name: 'user-references-v1',
      document: referenceDocument,
      indexes: [['userId', 'kind', 'firstPosition']],
    },
  },
  events: { ContractRegistered, SponsorshipReserved },
  touches: (event) => {
    if (event.type === 'SponsorshipReserved')
      return { reference: `sponsorship/${event.data.userId}/${reservationIdOf(event)}` };
    const registrant = registrantOf(event);
    if (registrant.userId === null) return {};
    return { reference: `registration/${event.data.watchId}/${claimantText(registrant)}` };
  },
  evolve: ({ reference }, event) => {
    if (reference) return { reference };
    const made = { firstPosition: event.position, time: toIso(event.time) };
    if (event.type === 'SponsorshipReserved') {
      const { userId, appId } = event.data;
      return {
        reference: { userId, kind: 'sponsorship' as const, documentId: reservationIdOf(event), appId, ...made },
      };
    }
    const { appId, userId } = registrantOf(event);
    if (userId === null) return {};
    return { reference: { userId, kind: 'registration' as const, documentId: event.data.watchId, appId, ...made } };
  },
});
